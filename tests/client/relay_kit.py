"""A relay and origins for tests of the real programs: amberd with a double of
the generator, whose puzzle is there at once, and play_origin.  All of it in a
temporary folder, on loopback, gone at the end."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BIN = os.environ["AMBER_BIN"]
DOUBLES = os.environ["AMBER_TESTS_BIN"]
WAIT_S = 60
OWN = "203.0.113.7"         # TEST-NET-3: dialled by nobody


class Kit:
    def __init__(self, config=""):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="amber-kit."))
        self.env = dict(os.environ, AMBER_DOUBLE_FOLDER=str(self.top))
        for name in list(self.env):
            if name.lower().endswith("_proxy") or name in ("AMBER_RELAY",
                                                           "AMBER_PIN"):
                del self.env[name]
        self.relay = self.origin = None
        self.ports = {}
        self.config = config
        try:
            self.start_origin()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *why):
        if why[0] is not None and (self.top / "log").exists():
            sys.stderr.write((self.top / "log").read_text())
        self.close()

    # ---- origins and DNS

    def start_origin(self):
        self.origin = subprocess.Popen(
            [DOUBLES + "/play_origin", str(self.top)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for line in self.origin.stdout:
            if not line.strip():
                return
            name, port = line.split()
            self.ports[name] = int(port)
        raise RuntimeError("play_origin did not start")

    def url(self, path="/ok", host="origin.example", kind="good"):
        return f"https://{host}:{self.ports[kind]}{path}"

    # ---- the relay

    def write_config(self, more=""):
        text = f"""listen = 127.0.0.1:0
metrics_listen = 127.0.0.1:0
direct_listen = 127.0.0.1:0
timelock = {DOUBLES}/double_generator
dns_servers = 127.0.0.1:{self.ports['dns']}
dns = 2s
ca_file = {self.top}/ca.pem
allow = 127.0.0.0/8
own_address = {OWN}
"""
        text += "".join(f"allowed_ports = {p}\n"
                        for n, p in self.ports.items() if n != "dns")
        (self.top / "amberd.conf").write_text(text + self.config + more)

    def start(self, more="", ready=True):
        self.write_config(more)
        self.log = open(self.top / "log", "w")
        self.relay = subprocess.Popen(
            [BIN + "/amberd", "-c", "amberd.conf"], cwd=self.top,
            env=self.env, stderr=self.log, stdin=subprocess.DEVNULL)
        self.address = self.listener("exchanges")
        self.direct = self.listener("inner TLS")
        self.metrics = self.listener("metrics")
        self.pin = str(self.top / "amber-data/identity.vkey")
        self.env.update(AMBER_RELAY="http://" + self.address,
                        AMBER_PIN=self.pin)
        if ready:
            self.see("epoch 1 serves")

    def listener(self, what):
        return self.see(rf"listening for {what} on (\S+)").group(1)

    def see(self, pattern, count=1):
        """Waits for a line of the log."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            text = (self.top / "log").read_text()
            found = list(re.finditer(pattern, text))
            if len(found) >= count:
                return found[-1]
            if self.relay.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"no '{pattern}' in the log:\n{text}")

    def stop(self):
        if self.relay is None:
            return 0
        self.relay.send_signal(signal.SIGTERM)
        code = self.relay.wait(WAIT_S)
        self.relay = None
        self.log.close()
        return code

    def get(self, address, path):
        p = subprocess.run(["curl", "-s", f"http://{address}{path}"],
                           capture_output=True, text=True, env=self.env,
                           timeout=WAIT_S)
        return p.stdout

    def close(self):
        for p in (self.relay, self.origin):
            if p is not None and p.poll() is None:
                p.kill()
                p.wait()
        if self.origin is not None:
            self.origin.stdin.close()
            self.origin.stdout.close()
        shutil.rmtree(self.top, ignore_errors=True)

    # ---- the client

    def amber(self, *args, code=0, stdin=""):
        p = subprocess.run([BIN + "/amber", *args], capture_output=True,
                           env=self.env, cwd=self.top, input=stdin.encode(),
                           timeout=WAIT_S)
        # Not by text=True, which would make one newline of CRLF.
        p.stdout = p.stdout.decode(errors="replace")
        p.stderr = p.stderr.decode(errors="replace")
        if code is not None:
            assert p.returncode == code, (args, p.returncode, p.stdout,
                                          p.stderr)
        return p

    def fetch(self, *args, **kw):
        return self.amber("fetch", *args, **kw)
