#!/usr/bin/python3
"""http_receiver.py RECORD [--tls CERTIFICATE KEY] [--port PORT] [--rules JSON]: an HTTP server that writes down what it gets.

Prints "ready PORT" once it listens on 127.0.0.1. Each request becomes a line of JSON in RECORD before it is answered:
n, method, path, headers (names in lower case), body (text) and body_base64 (the bytes), and answer, what was done about
it. RECORD is what a test believes. A GET is answered and not recorded.

It answers 200 "ok" unless POST /_control, or --rules before it listens, told it otherwise; a rule or a list of them, in
JSON:
  path     requests whose path begins so (any)          times   how many of them (1; 0 is all)
  status   answer with this status (200)                headers, body   and with these
  action   hang: no answer until the caller goes away   reset: cut the connection once the request is recorded
           half: half of an answer, and then nothing
           unseen: cut the connection without recording anything, as a receiver that crashed would
Rules are used up in their order. DELETE /_control forgets those that are left.
"""
import base64
import json
import socket
import ssl
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

lock = threading.Lock()
rules = []
seen = 0
record = open(sys.argv[1], "a", buffering=1, encoding="utf-8")


def rule_for(path):
    for rule in rules:
        if path.startswith(rule.get("path", "")):
            if rule.get("times", 1) > 0:
                rule["times"] = rule.get("times", 1) - 1
                if rule["times"] == 0:
                    rules.remove(rule)
            return rule
    return {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *_):
        pass

    def answer(self, status, headers, body):
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def cut(self):
        # With a linger of nothing, closing sends a reset.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def wait_for_end(self):
        try:
            while self.connection.recv(4096):
                pass
        except OSError:
            pass
        self.close_connection = True

    def control(self, body):
        told = json.loads(body)
        with lock:
            rules.extend(told if isinstance(told, list) else [told])
        self.answer(200, {}, b"")

    def take(self):
        global seen
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/_control":
            return self.control(body)
        with lock:
            rule = rule_for(self.path)
            action = rule.get("action", "")
            if action != "unseen":
                seen += 1
                record.write(json.dumps({
                    "n": seen, "method": self.command, "path": self.path,
                    "headers": {name.lower(): value for name, value in self.headers.items()},
                    "body": body.decode("utf-8", "replace"), "body_base64": base64.b64encode(body).decode(),
                    "answer": action or str(rule.get("status", 200))}) + "\n")
        if action in ("reset", "unseen"):
            self.cut()
        elif action == "hang":
            self.wait_for_end()
        elif action == "half":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Le")
            self.wfile.flush()
            self.wait_for_end()
        else:
            self.answer(rule.get("status", 200), rule.get("headers", {}), rule.get("body", "ok").encode())

    do_POST = do_PUT = take

    def do_GET(self):
        self.answer(200, {}, b"ok")

    def do_DELETE(self):
        with lock:
            rules.clear()
        self.answer(200, {}, b"")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass


def option(name, count):
    if name not in sys.argv:
        return None
    at = sys.argv.index(name) + 1
    return sys.argv[at:at + count]


rules.extend(json.loads((option("--rules", 1) or ["[]"])[0]))
server = Server(("127.0.0.1", int((option("--port", 1) or ["0"])[0])), Handler)
if option("--tls", 2):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*option("--tls", 2))
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(f"ready {server.server_address[1]}", flush=True)
server.serve_forever()
