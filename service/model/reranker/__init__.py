"""Rerankers: models whose vector is one number, the logit of a pair's relevance."""
