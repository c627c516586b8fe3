"""What a column is: number, category, text or image; which one is the label and what kind of target it is."""
