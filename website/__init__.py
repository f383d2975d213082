"""The site of docs/: pages that are made, and what mkdocs asks for when it builds them."""
