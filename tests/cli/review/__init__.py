"""What a pull request gets: all checks as Markdown, one comment, and the action that brings both."""
