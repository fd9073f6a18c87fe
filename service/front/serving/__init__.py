"""The served model: started, probed, and asked for vectors."""
