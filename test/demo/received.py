#!/usr/bin/python3
"""received.py FOLDER: prints what the receivers of the demo got since the last time."""
import json
import sys
from pathlib import Path

folder = Path(sys.argv[1])


def new_lines(name):
    seen = folder / f"{name}.seen"
    start = int(seen.read_text()) if seen.exists() else 0
    lines = (folder / name).read_text(encoding="utf-8").splitlines() if (folder / name).exists() else []
    seen.write_text(str(len(lines)))
    return [json.loads(line) for line in lines[start:]]


def indented(text):
    return "".join(f"    {line}\n" for line in text.strip().splitlines())


slack = new_lines("slack")
mails = new_lines("mail")
print(f"Slack got {len(slack) or 'no'} message{'s' * (len(slack) != 1)}" + ":" * bool(slack))
for request in slack:
    blocks = json.loads(request["body"]).get("blocks", [])
    print(indented("\n".join(block["text"]["text"] for block in blocks if "text" in block)))
print(f"The mail server got {len(mails) or 'no'} mail{'s' * (len(mails) != 1)}" + ", the first of them:" * bool(mails))
for mail in mails[:1]:
    print(indented(f"To: {', '.join(mail['to'])}\nSubject: {mail['subject']}\n\n{mail['text']}"))
