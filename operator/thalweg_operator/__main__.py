"""`python -m thalweg_operator` is `thalweg`."""

from thalweg_operator.command import main

if __name__ == "__main__":
    main()
