"""The playground, `GET /`: one page of plain HTML, CSS and ES modules (`page/`), and the table of its files."""
