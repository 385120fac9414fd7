#!/usr/bin/python3
"""A proxy before PostgreSQL that cuts a connection at a chosen statement.

proxy.py RECORD --target SOCKET [--port PORT]: prints "ready PORT", and then listens on loopback. The rule is read from
the file RECORD.rule for each statement:

    before TEXT N    the N-th statement that contains TEXT never arrives: the connection is cut
    after TEXT N     it is done, and committed; the connection is cut when the server has answered, before the client hears
    hang TEXT N      it is done; the client never hears of it, and the connection stays open

A rule holds once. Writes a line of JSON to RECORD for each cut.
"""
import argparse
import json
import os
import socket
import threading

lock = threading.Lock()
seen = {}


def rule_for(path, data):
    """The rule that strikes at this statement, if one does."""
    with lock:
        try:
            with open(path, encoding="utf-8") as file:
                words = file.read().split()
        except FileNotFoundError:
            return None
        if len(words) != 3 or words[1].encode() not in data:
            return None
        key = " ".join(words)
        seen[key] = seen.get(key, 0) + 1
        return words[0] if seen[key] == int(words[2]) else None


class Link:
    def __init__(self, client, server, options):
        self.client, self.server, self.options = client, server, options
        self.struck = None

    def cut(self, record):
        with lock, open(self.options.record, "a", encoding="utf-8") as file:
            file.write(json.dumps({"cut": record}) + "\n")
        self.end(self.client)
        self.end(self.server)

    @staticmethod
    def end(half):
        # Closing would not wake a thread that reads from it.
        try:
            half.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def upward(self):
        try:
            while data := self.client.recv(1 << 20):
                if self.struck is None:
                    self.struck = rule_for(self.options.record + ".rule", data)
                    if self.struck == "before":
                        self.cut("before")
                        return
                self.server.sendall(data)
        except OSError:
            pass
        finally:
            self.end(self.server)

    def downward(self):
        try:
            while data := self.server.recv(1 << 20):
                if self.struck == "hang":
                    continue
                if self.struck == "after":
                    # ReadyForQuery, idle: the transaction has ended.
                    if data.endswith(b"Z\x00\x00\x00\x05I"):
                        self.cut("after")
                        return
                    continue
                self.client.sendall(data)
        except OSError:
            pass
        finally:
            self.end(self.client)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("record")
    parser.add_argument("--target", required=True)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    listener = socket.create_server(("127.0.0.1", options.port))
    print("ready", listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(options.target)
        except OSError:
            client.close()
            continue
        link = Link(client, server, options)
        threading.Thread(target=link.upward, daemon=True).start()
        threading.Thread(target=link.downward, daemon=True).start()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        os._exit(0)
