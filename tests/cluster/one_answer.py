"""python3 one_answer.py ADDRESS:PORT ANSWER [CERTIFICATE KEY]: a name server that answers every query
with one address, so that an answer tells who was asked; with a certificate by DNS over TLS."""

import socket
import ssl
import sys
import threading


def reply(query, answer):
    end = 12
    while query[end]:
        end += query[end] + 1
    return query[:2] + b"\x85\x80\0\1\0\1\0\0\0\0" + query[12:end + 5] + \
        b"\xc0\x0c\0\1\0\1\0\0\0\x1e\0\4" + answer


def serve_client(context, client, answer):
    """Until it hangs up, or is no friend of TLS."""
    try:
        with context.wrap_socket(client, server_side=True) as stream:
            while head := stream.recv(2):
                octets = reply(stream.recv(int.from_bytes(head, "big")), answer)
                stream.sendall(len(octets).to_bytes(2, "big") + octets)
    except OSError:
        client.close()


def serve_tls(where, answer, *files):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    server = socket.create_server(where)
    print("up", flush=True)
    while True:
        threading.Thread(target=serve_client, args=(context, server.accept()[0], answer),
                         daemon=True).start()


def serve(where, answer):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(where)
    print("up", flush=True)
    while True:
        query, client = server.recvfrom(4096)
        server.sendto(reply(query, answer), client)


def main():
    host, _, port = sys.argv[1].rpartition(":")
    files = sys.argv[3:]
    (serve_tls if files else serve)((host, int(port)), socket.inet_aton(sys.argv[2]), *files)


if __name__ == "__main__":
    main()
