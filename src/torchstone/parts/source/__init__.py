"""Reading training code without running it: a syntax tree with scopes, followed values, and the order of calls."""
