"""What the ten sites have besides their sources: text, code, pictures, fonts, fields of responses."""
