"""Repositories of git that tests make."""

import subprocess

IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]


def git(folder, *arguments):
    """What a command of git prints."""
    run = ["git", *IDENTITY, *arguments]
    return subprocess.run(run, cwd=folder, capture_output=True, text=True, check=True).stdout


def commit(folder, files=None):
    """Writes files, by their names with their texts, and commits all; the first time a repository begins."""
    for name, text in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "all")
