"""Files of people, whatever program wrote them: text, its encoding, tables, the numbers in them."""
