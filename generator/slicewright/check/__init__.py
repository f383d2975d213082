"""Checks of finished objects: schemas, then rules, on files of anybody and on composed overlays alike."""
