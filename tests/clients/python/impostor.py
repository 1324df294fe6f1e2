"""Processes that pass for a node of the cluster with a certificate that is not right, each check of certificates alone.

    python3 impostor.py certificates --authority KEYS --to FOLDER --cluster netns --node 8 --role sql --host 10.99.0.8
    python3 impostor.py knock --keys FOLDER --cluster netns --node 8 --case expired=3@10.99.0.3 …  --good 4@10.99.0.4
    python3 impostor.py ask --keys FOLDER --management-port 10.99.0.1:1186

`certificates` has the authority's private key, and signs with it what nodes must refuse: one certificate that has expired, one of another cluster, one of
another node; one more is signed by another authority of the same name. `knock` is run where the node lives whose id is claimed, while that node is away: what it
says to the cluster port is right in everything but the certificate. That is shown last, by `--good`: with the right certificate the same bytes are
answered. `ask` shows the same wrong certificates, as an operator's tool, to the management port.
"""

import argparse
import datetime
import ipaddress
import os
import socket
import ssl
import struct
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from stranger import PATIENCE, frame

# ModuleKind of `protocol`, in its order.
SQL, TC, QUERY, MAIN, MEMBERSHIP = 0, 1, 3, 4, 5


def name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def write(folder, case, certificate, authority, key):
    os.makedirs(f"{folder}/{case}", exist_ok=True)
    with open(f"{folder}/{case}/ndb-api-cert", "wb") as file:
        for part in (certificate, authority):
            file.write(part.public_bytes(serialization.Encoding.PEM))
    path = f"{folder}/{case}/ndb-api-private-key"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        file.write(key.private_bytes(encoding, form, serialization.NoEncryption()))


def certificates(given):
    with open(f"{given.authority}/NDB-Cluster-cert", "rb") as file:
        authority = x509.load_pem_x509_certificate(file.read())
    with open(f"{given.authority}/NDB-Cluster-private-key", "rb") as file:
        authority_key = serialization.load_pem_private_key(file.read(), None)
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)

    def sign(case, bearer, until=now + day, signer=authority_key):
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.UniformResourceIdentifier(f"latsdb://{bearer}")]
        names.append(x509.IPAddress(ipaddress.ip_address(given.host)))
        made = x509.CertificateBuilder().subject_name(name(case)).issuer_name(authority.subject)
        made = made.public_key(key.public_key()).serial_number(x509.random_serial_number())
        made = made.not_valid_before(now - 2 * day).not_valid_after(until)
        made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        made = made.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        write(given.to, case, made.sign(signer, hashes.SHA256()), authority, key)

    for who, bearer, other in [("", f"{given.role}/{given.node}", f"{given.role}/{given.node + 90}"), ("tool-", "client", None)]:
        sign(f"{who}good", f"{given.cluster}/{bearer}")
        sign(f"{who}expired", f"{given.cluster}/{bearer}", until=now - day)
        sign(f"{who}other-cluster", f"{given.cluster}x/{bearer}")
        sign(f"{who}other-authority", f"{given.cluster}/{bearer}", signer=ec.generate_private_key(ec.SECP256R1()))
        if other:
            sign(f"{who}other-node", f"{given.cluster}/{other}")
    return 0


def context(folder):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    made.load_cert_chain(f"{folder}/ndb-api-cert", f"{folder}/ndb-api-private-key")
    return made


def converse(address, folder, data):
    """What is answered through TLS with these keys; the second text says how the connection ended."""
    with socket.create_connection(address, PATIENCE) as plain:
        plain.settimeout(PATIENCE)
        try:
            with context(folder).wrap_socket(plain) as connection:
                connection.sendall(data)
                return connection.recv(65536), "it is open"
        except TimeoutError:
            raise
        except OSError as error:
            return b"", str(error)


def hello(cluster, node, to):
    """As docs/formats/wire.md has it: an SQL node with one thread."""
    modules = b"".join(struct.pack("<HBB", node, kind, 0) for kind in (SQL, TC, QUERY, MAIN, MEMBERSHIP))
    text = cluster.encode()
    body = struct.pack("<I", len(text)) + text + struct.pack("<HQHHH", node, 4711, to, 0, 0)
    return frame(b"LATS" + struct.pack("<H", 5) + body + struct.pack("<II", 1, 5) + modules)


def knock(given):
    wrong = []
    for word in given.case:
        case, place = word.split("=")
        node, host = place.split("@")
        said, end = converse((host, 2202), f"{given.keys}/{case}", hello(given.cluster, given.node, int(node)))
        print(f"{case} at node {node}: {len(said)} bytes; {end}")
        if said:
            wrong.append(f"node {node} answers {said[:60]!r} to the certificate '{case}'")
    node, host = given.good.split("@")
    said, end = converse((host, 2202), f"{given.keys}/good", hello(given.cluster, given.node, int(node)))
    if b"LATS" not in said:
        wrong.append(f"node {node} does not answer the right certificate, so the others prove nothing: {said[:60]!r}, {end}")
    print("\n".join(wrong) or "only the right certificate is answered")
    return 1 if wrong else 0


def ask(given):
    host, port = given.management_port.rsplit(":", 1)
    answers = {case: converse((host, int(port)), f"{given.keys}/tool-{case}", b"show\n")[0] for case in given.case + ["good"]}
    wrong = [f"the management port answers {answers[case][:60]!r} to '{case}'" for case in given.case if answers[case]]
    if not answers["good"]:
        wrong.append("the management port does not answer a tool with the right certificate")
    print("\n".join(wrong) or "the management port answers the right certificate only")
    return 1 if wrong else 0


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("what", choices=["certificates", "knock", "ask"])
    for option in ("--authority", "--to", "--keys", "--cluster", "--role", "--host", "--good", "--management-port"):
        arguments.add_argument(option)
    arguments.add_argument("--node", type=int)
    arguments.add_argument("--case", action="append", default=[])
    given = arguments.parse_args()
    return {"certificates": certificates, "knock": knock, "ask": ask}[given.what](given)


if __name__ == "__main__":
    sys.exit(main())
