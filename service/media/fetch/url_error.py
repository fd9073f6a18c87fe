"""What is wrong with the text of a URL: known before anything is asked of a network."""


class UrlError(Exception):
    """A URL is not accepted for how it is written, or for a host or port that is not allowed.

    The message is for the client. It depends on the text and the settings alone, so that it says nothing about hosts.
    """
