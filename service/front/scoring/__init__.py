"""The second stage: how relevant each document is to a query, by the model that is served."""
