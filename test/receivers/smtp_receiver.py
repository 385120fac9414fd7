#!/usr/bin/python3
"""smtp_receiver.py RECORD --tls CERTIFICATE KEY [--user USER PASSWORD] [--implicit] [--port PORT]: an SMTP server.

Prints "ready PORT". STARTTLS is required (--implicit: TLS from the first byte), and AUTH where there is a user. Each mail
becomes a line of JSON in RECORD before it is accepted: n, from, to, user, tls, data_base64, and what Python's MIME parser
makes of it: headers, subject, text, html, types of the parts, and defects. The recipient's name says what happens:
  rcpt_550@ rcpt_450@   refused with this code when named      data_554@ data_451@   refused once its data were read
  drop@                 recorded, and the connection is cut    unseen@               cut without being recorded
  hang@                 recorded, and never answered
"""
import asyncio
import base64
import email
import email.policy
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult


def option(name, count):
    if name not in sys.argv:
        return None
    at = sys.argv.index(name) + 1
    return sys.argv[at:at + count]


record = open(sys.argv[1], "a", buffering=1, encoding="utf-8")
seen = 0


def body_of(message, kind):
    part = message.get_body(preferencelist=(kind,))
    return part.get_content().replace("\r\n", "\n") if part else None


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        name = address.split("@")[0]
        if name.startswith("rcpt_"):
            return f"{name[5:8]} no"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        global seen
        name = envelope.rcpt_tos[0].split("@")[0]
        if name == "unseen":
            server.transport.abort()
            return "421 gone"
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        seen += 1
        record.write(json.dumps({
            "n": seen, "from": envelope.mail_from, "to": envelope.rcpt_tos,
            "user": session.auth_data if session.authenticated else None, "tls": session.ssl is not None or implicit,
            "data_base64": base64.b64encode(envelope.content).decode(),
            "headers": [[key, str(value)] for key, value in message.items()], "subject": message["Subject"],
            "text": body_of(message, "plain"), "html": body_of(message, "html"),
            "types": [part.get_content_type() for part in message.walk()],
            "defects": [repr(defect) for part in message.walk() for defect in part.defects]}) + "\n")
        if name == "drop":
            server.transport.abort()
        if name == "hang":
            await asyncio.sleep(3600)
        if name.startswith("data_"):
            return f"{name[5:8]} no"
        return "250 OK"


def authenticate(server, session, envelope, mechanism, data):
    wanted = option("--user", 2)
    name, password = data.login.decode(), data.password.decode()
    if [name, password] != wanted:
        return AuthResult(success=False, handled=False)
    return AuthResult(success=True, auth_data=name)


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*option("--tls", 2))
    port = int((option("--port", 1) or ["0"])[0])

    def session():
        return SMTP(Handler(), hostname="receiver.test", tls_context=None if implicit else context, require_starttls=not implicit,
                    auth_required=option("--user", 2) is not None, auth_require_tls=not implicit, authenticator=authenticate,
                    enable_SMTPUTF8=False)

    server = await asyncio.get_running_loop().create_server(session, "127.0.0.1", port, ssl=context if implicit else None)
    print(f"ready {server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


implicit = "--implicit" in sys.argv
asyncio.run(main())
