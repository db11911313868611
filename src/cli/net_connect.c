/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentbox net-connect PROXY HOST PORT: the ProxyCommand of ssh inside a filtered run. It asks
 * the SOCKS5 proxy for a connection and copies both ways until both ends are done. Runs with the
 * rights of whoever calls it; no command of the program, so the help does not show it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/proxy_options.h"

#define COPY_BYTES 65536
#define NAME_MAX_5 255

enum { SOCKS_VERSION = 5, SOCKS_CONNECT = 1, SOCKS_V4 = 1, SOCKS_NAME = 3, SOCKS_V6 = 4 };

/* "ADDRESS:PORT" of IPv4; a connected socket, or -errno. */
static int connect_proxy(const char *text)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    const char *colon = strrchr(text, ':');
    char address[64];
    uint64_t port;

    if (!colon || (size_t)(colon - text) >= sizeof address || !str_to_u64(colon + 1, 65535, &port))
        return -EINVAL;
    memcpy(address, text, (size_t)(colon - text));
    address[colon - text] = '\0';
    at.sin_port = htons((uint16_t)port);
    if (inet_pton(AF_INET, address, &at.sin_addr) != 1)
        return -EINVAL;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)(const void *)&at, sizeof at) < 0) {
        int r = -errno;
        (void)close(fd);
        return r;
    }
    return fd;
}

/* The target as SOCKS5 has it: type and address. Its length, or 0. */
static size_t put_target(const char *host, uint8_t *to)
{
    size_t len = strlen(host);

    if (inet_pton(AF_INET, host, to + 1) == 1) {
        to[0] = SOCKS_V4;
        return 5;
    }
    if (inet_pton(AF_INET6, host, to + 1) == 1) {
        to[0] = SOCKS_V6;
        return 17;
    }
    if (len == 0 || len > NAME_MAX_5)
        return 0;
    to[0] = SOCKS_NAME;
    to[1] = (uint8_t)len;
    for (size_t i = 0; i < len; i++)
        to[2 + i] = (uint8_t)host[i];
    return len + 2;
}

static int read_exactly(int fd, uint8_t *to, size_t len)
{
    while (len > 0) {
        ssize_t n = read(fd, to, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ECONNRESET;
        to += n;
        len -= (size_t)n;
    }
    return 0;
}

/* What the proxy answered: 0 is yes, more is a SOCKS5 code; or -errno. */
static int ask_proxy(int fd, const char *host, uint16_t port)
{
    uint8_t out[NAME_MAX_5 + 16] = { SOCKS_VERSION, 1, 0 }, in[NAME_MAX_5 + 16] = { 0 };
    int r = io_write_all(fd, (const char *)out, 3);

    if (r == 0)
        r = read_exactly(fd, in, 2);
    if (r < 0)
        return r;
    if (in[0] != SOCKS_VERSION || in[1] != 0)
        return -EPROTO;
    out[1] = SOCKS_CONNECT;
    size_t len = put_target(host, out + 3);
    if (len == 0)
        return -EINVAL;
    out[3 + len] = (uint8_t)(port >> 8);
    out[4 + len] = (uint8_t)port;
    r = io_write_all(fd, (const char *)out, 5 + len);
    if (r == 0)
        r = read_exactly(fd, in, 5);
    if (r < 0 || in[1] != 0)
        return r < 0 ? r : in[1];
    /* The bound address: nobody needs it. One byte of it was read. */
    size_t rest = in[3] == SOCKS_V4 ? 3 : in[3] == SOCKS_V6 ? 15 : in[4];
    return read_exactly(fd, in, rest + 2);
}

static int explain(const char *host, uint16_t port, int answer)
{
    static const char *const reasons[] = { "",
                                           "it failed",
                                           "it is not allowed",
                                           "no network",
                                           "no such host",
                                           "connection refused",
                                           "it timed out",
                                           "the proxy cannot do that",
                                           "the proxy cannot do that" };
    char hint[320];

    (void)snprintf(hint, sizeof hint, "--allow-domain %s:%u, outside, allows it", host, port);
    return cli_misuse(answer == 2 ? hint : NULL, "connect to %s:%u: %s", host, port,
                      answer < 0                            ? strerrordesc_np(-answer)
                      : (size_t)answer < ARRAY_LEN(reasons) ? reasons[answer]
                                                            : "it failed");
}

/* One direction; false: it is at its end, and the other side knows. */
static bool copy(int from, int to, bool to_socket)
{
    static char bytes[COPY_BYTES];
    ssize_t n = read(from, bytes, sizeof bytes);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (n > 0 && io_write_all(to, bytes, (size_t)n) == 0)
        return true;
    if (to_socket)
        (void)shutdown(to, SHUT_WR);
    else
        (void)close(to);
    return false;
}

static void relay(int fd)
{
    struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                            { .fd = fd, .events = POLLIN } };

    while (fds[1].fd >= 0) {
        if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
            return;
        if (fds[0].fd >= 0 && fds[0].revents && !copy(STDIN_FILENO, fd, true))
            fds[0].fd = -1;
        if (fds[1].revents && !copy(fd, STDOUT_FILENO, false))
            fds[1].fd = -1;
    }
}

int cli_net_connect(char **words)
{
    uint64_t port;

    if (!str_to_u64(words[2], 65535, &port) || port == 0)
        return cli_misuse(NULL, "net-connect: '%s' is not a port", words[2]);
    int fd = connect_proxy(words[0]);
    if (fd < 0)
        return cli_misuse(NULL, "connect to the proxy at %s: %s", words[0], strerrordesc_np(-fd));
    int answer = ask_proxy(fd, words[1], (uint16_t)port);
    if (answer != 0)
        return explain(words[1], (uint16_t)port, answer);
    relay(fd);
    return 0;
}
