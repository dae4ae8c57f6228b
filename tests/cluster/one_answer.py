"""python3 one_answer.py ADDRESS:PORT ANSWER: a name server that answers every query with one
address, so that an answer tells who was asked."""

import socket
import sys


def main():
    host, _, port = sys.argv[1].rpartition(":")
    answer = socket.inet_aton(sys.argv[2])
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((host, int(port)))
    print("up", flush=True)
    while True:
        query, client = server.recvfrom(4096)
        end = 12
        while query[end]:
            end += query[end] + 1
        question = query[12:end + 5]
        server.sendto(query[:2] + b"\x85\x80\0\1\0\1\0\0\0\0" + question +
                      b"\xc0\x0c\0\1\0\1\0\0\0\x1e\0\4" + answer, client)


if __name__ == "__main__":
    main()
