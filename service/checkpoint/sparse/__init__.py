"""Files of models whose vectors are sparse: SPLADE's pooling, and the table that weighs queries."""
