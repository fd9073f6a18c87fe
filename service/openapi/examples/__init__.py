"""The examples of the document, by name: requests that decode, answers that validate, and errors as they are worded."""
