/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of any bytes as an answer to the question of the seeds (A or AAAA of ok.test), and as
 * the text of a hosts file and of a resolv.conf. Counts stay within their limits.
 */
#include <stdlib.h>
#include <string.h>

#include "net/dns.h"
#include "net/resolvconf.h"

#define FUZZ_ID 0x1234

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const uint8_t *data, size_t size, const struct host *name,
                         enum dns_type type)
{
    static struct dns_answer answer;
    enum dns_status status = dns_parse_answer(data, size, name, type, FUZZ_ID, &answer);

    if (status == DNS_OK && (answer.count == 0 || answer.count > DNS_MAX_ADDRS))
        abort();
    if ((status == DNS_NO_DATA || status == DNS_NO_NAME) && answer.count != 0)
        abort();
    if (status <= DNS_NO_NAME && answer.ttl > DNS_TTL_MAX)
        abort();
    for (size_t i = 0; status == DNS_OK && i < answer.count; i++)
        if (answer.addrs[i].zoned || (type == DNS_A && answer.addrs[i].family != ADDR_V4))
            abort();
}

static void check_files(const char *text, size_t size, const struct host *name)
{
    struct addr addrs[HOSTS_MAX_ADDRS];
    struct resolv_conf conf;
    struct host candidate;
    size_t n = 0;

    if (hosts_find(text, size, name, addrs) > HOSTS_MAX_ADDRS)
        abort();
    resolv_conf_parse(text, size, &conf);
    if (conf.server_count == 0 || conf.server_count > RESOLV_MAX_SERVERS ||
        conf.search_count > RESOLV_MAX_SEARCH || conf.ndots > 15 || conf.timeout < 1 ||
        conf.attempts < 1)
        abort();
    while (resolv_candidate(&conf, name, n, &candidate))
        n++;
    if (n != conf.search_count + 1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct host name;

    if (size > DNS_MESSAGE_MAX || host_parse("ok.test", 7, &name) != HOST_OK)
        return 0;
    check_answer(data, size, &name, DNS_A);
    check_answer(data, size, &name, DNS_AAAA);
    check_files((const char *)data, size, &name);
    return 0;
}
