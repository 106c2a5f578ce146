"""Stories are found, kept whole, and either trained on or held out, never both."""

import pytest

from specdec_core.training.corpus import load_split, opening, split_stories

LONG = "and so they went on through the forest until the evening came and the stars were out. " * 5


def test_a_story_begins_at_a_storylike_opening_and_runs_to_the_next():
    stories = split_stories(
        ["A preface by the editor.", "Once upon a time there was a fox.", LONG, "There was once a hen.", LONG]
    )
    assert [story.split("\n")[0] for story in stories] == [
        "Once upon a time there was a fox.",
        "There was once a hen.",
    ]


@pytest.mark.parametrize(
    "commentary",
    [
        "Produced by volunteers at https://example.org",
        "This tale is translated from the Danish; see vol. ii of the same work.",
        "Page 37--pack amended to back",
    ],
)
def test_commentary_inside_a_story_is_left_out(commentary):
    (story,) = split_stories(["Once upon a time there was a fox.", commentary, LONG])
    assert commentary not in story
    assert LONG in story


def test_nothing_after_the_first_source_note_is_kept():
    (story,) = split_stories(
        [
            "Once upon a time there was a fox.",
            LONG,
            "Source.--A newspaper.",
            "Once upon a time again. " + LONG,
        ]
    )
    assert "again" not in story


def test_in_a_book_of_fables_every_long_paragraph_is_a_story_with_its_moral():
    first, second = split_stories(
        ["A fox " + LONG, "Pride comes before a fall.", "A hen " + LONG], fables=True
    )
    assert first.endswith("Pride comes before a fall.")
    assert second.startswith("A hen")


@pytest.fixture()
def books(tmp_path):
    for book in range(3):
        tales = [f"Once upon a time there was a fox with {book * 40 + n} tails. {LONG}" for n in range(40)]
        (tmp_path / f"pg{book}.txt").write_text("\n".join(tales), encoding="utf-8")
    return tmp_path


def test_the_split_is_disjoint_and_complete(books):
    split = load_split(books, seed=3)
    assert not set(split.train) & set(split.held_out)
    assert len(split.train) == 114
    assert len(split.held_out) == 6


def test_the_split_depends_on_the_seed_and_on_nothing_else(books):
    assert load_split(books, seed=3) == load_split(books, seed=3)
    assert load_split(books, seed=3).held_out != load_split(books, seed=4).held_out


def test_a_folder_without_books_is_refused_by_name(tmp_path):
    with pytest.raises(FileNotFoundError, match="no book"):
        load_split(tmp_path, seed=1)


def test_a_prompt_is_the_first_words_of_a_story():
    assert opening("Once upon a\ntime there was", words=4) == "Once upon a time"
