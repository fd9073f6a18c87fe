"""`python -m service serve` is `cenote serve`."""

from service.cli import main

if __name__ == "__main__":
    main()
