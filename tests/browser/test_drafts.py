"""Choosing a draft in a real browser, from its preparation to its first round."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_a_draft_that_needs_a_copy_of_the_target_is_prepared_and_runs(explore):
    page = explore("?gamma=3")
    kinds = page.locator(".st-key-draft_kind")
    kinds.get_by_role("combobox").click()
    page.get_by_role("option", name="The target with int8 weights").click()
    run = page.locator(".st-key-run_live button")
    expect(run).to_be_disabled()
    page.locator(".st-key-prepare_draft button").click()
    expect(run).to_be_enabled()
    run.click()
    expect(page.locator(".position .badge").first).to_have_text("before the first round")
    page.locator(".st-key-next button").click()
    expect(page.locator(".position .badge").first).to_have_text("round 1 of 1")
    expect(page.locator(".lanes .step .chip")).to_have_count(3)
    expect(kinds.get_by_role("combobox")).to_have_value("The target with int8 weights")
