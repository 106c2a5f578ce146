"""Text where Streamlit takes Markdown."""


def literal(text: str) -> str:
    """Text with the characters escaped that Markdown would act on.

    >>> literal("2 * 3")
    '2 \\\\* 3'
    """
    return "".join(f"\\{char}" if char in "\\`*_{}[]()<>#+-.!|$:~" else char for char in text)
