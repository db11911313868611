/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a plan. Text goes to a terminal, so names that others chose (paths, arguments) are
 * escaped. Variables are listed by name: their values may be secrets that the user asked to pass.
 */
#include "plan/dump.h"

#include <string.h>
#include <sys/resource.h>

#include "base/json.h"
#include "base/str.h"

#define TEXT_COLUMNS 80

static const char *backend_name(uint32_t backend)
{
    return backend == BACKEND_NATIVE ? "native" : backend == BACKEND_BWRAP ? "bwrap" : "landlock";
}

const char *plan_layer_name(uint32_t layer)
{
    static const char *const names[LAYER_NAME_COUNT] = {
        [LAYER_USERNS] = "userns",     [LAYER_MOUNTS] = "mounts",     [LAYER_PIDNS] = "pidns",
        [LAYER_NETNS] = "netns",       [LAYER_IPCNS] = "ipcns",       [LAYER_UTSNS] = "utsns",
        [LAYER_CGROUPNS] = "cgroupns", [LAYER_LANDLOCK] = "landlock", [LAYER_SECCOMP] = "seccomp",
        [LAYER_LIMITS] = "limits",     [LAYER_SEATBELT] = "seatbelt",
    };

    return layer < LAYER_NAME_COUNT ? names[layer] : "?";
}

const char *plan_mount_name(uint32_t kind)
{
    static const char *const names[MOUNT_KIND_COUNT] = {
        [MOUNT_BIND_RW] = "bind-rw",
        [MOUNT_BIND_RO] = "bind-ro",
        [MOUNT_PIN] = "pin",
        [MOUNT_MASK_DIR] = "mask-dir",
        [MOUNT_MASK_FILE] = "mask-file",
        [MOUNT_TMPFS] = "tmpfs",
        [MOUNT_PROC] = "proc",
        [MOUNT_DEV] = "dev",
        [MOUNT_DIR] = "dir",
        [MOUNT_FILE] = "file",
        [MOUNT_LINK] = "link",
        [MOUNT_COPY] = "copy",
        [MOUNT_WRAP] = "wrap",
    };

    return kind < MOUNT_KIND_COUNT ? names[kind] : "?";
}

static const char *grant_name(uint32_t grant)
{
    static const char *const names[GRANT_COUNT] = { "read", "write", "device", "files",
                                                    "list", "exec",  "change" };

    return grant < ARRAY_LEN(names) ? names[grant] : "?";
}

static const char *limit_name(uint32_t resource)
{
    switch (resource) {
    case RLIMIT_CORE:
        return "core";
    case RLIMIT_NOFILE:
        return "nofile";
    case RLIMIT_DATA:
        return "data";
    case RLIMIT_CPU:
        return "cpu";
    case RLIMIT_NPROC:
        return "nproc";
    default:
        return "?";
    }
}

static const struct {
    uint32_t flag;
    const char *name;
} mount_flags[] = {
    { MOUNT_SEAL, "sealed" },   { MOUNT_EARLY, "early" },       { MOUNT_OPTIONAL, "optional" },
    { MOUNT_CWD, "cwd" },       { MOUNT_WRITABLE, "writable" }, { MOUNT_HELD, "held" },
    { MOUNT_SOCKET, "socket" }, { MOUNT_LINKED, "symlink" },    { MOUNT_TELLS, "tells" },
};

static void put_escaped(struct buf *b, const char *s)
{
    (void)str_escape(b, s, strlen(s)); /* failure stays in the buffer */
}

static void text_mounts(const struct plan *p, struct buf *b)
{
    for (uint32_t i = 0; i < p->mount_count; i++) {
        const struct mount_op *op = &p->mounts[i];

        (void)buf_printf(b, "  %-9s ", plan_mount_name(op->kind));
        put_escaped(b, op->path);
        if (op->kind == MOUNT_TMPFS || op->kind == MOUNT_DIR || op->kind == MOUNT_FILE)
            (void)buf_printf(b, "  mode=%04o", op->mode);
        if (op->size && op->kind != MOUNT_WRAP)
            (void)buf_printf(b, "  size=%llu", (unsigned long long)op->size);
        for (size_t j = 0; j < ARRAY_LEN(mount_flags); j++)
            if (op->flags & mount_flags[j].flag)
                (void)buf_printf(b, "  %s", mount_flags[j].name);
        (void)buf_puts(b, op->kind == MOUNT_LINK   ? "  -> "
                          : op->kind == MOUNT_COPY ? "  <- "
                                                   : "  # ");
        put_escaped(b, op->text);
        (void)buf_putc(b, '\n');
    }
}

static bool plan_has_proxy(const struct plan *p)
{
    return p->proxied || p->relayed;
}

static void text_namespaces(const struct plan *p, struct buf *b)
{
    if (!backend_has_view(p->backend)) {
        const bool inner = p->backend == BACKEND_INNER;
        (void)buf_printf(b, "namespaces: those of the %s\n  network   %s\n",
                         inner ? "sandbox around" : "host",
                         p->network_shared ? "its"
                         : p->relayed      ? "none, but for the proxy on 127.0.0.1"
                                           : "none");
        return;
    }
    (void)buf_printf(b, "namespaces:\n  user      uid %u, gid %u%s\n", p->uid, p->gid,
                     p->map_all_ids ? ", all ids mapped" : "");
    (void)buf_printf(b, "  network   %s\n",
                     p->network_shared ? "the host's"
                     : p->proxied      ? "none, but for the proxy on 127.0.0.1"
                                       : "none");
    if (p->publishes)
        (void)buf_puts(b, "            ports inside are published on the host's 127.0.0.1\n");
    (void)buf_puts(b, "  hostname  ");
    put_escaped(b, p->hostname);
    (void)buf_printf(b, "\n  nested    %s\n", p->nested ? "allowed" : "refused");
}

static void text_network(const struct plan *p, struct buf *b)
{
    if (plan_has_proxy(p))
        (void)buf_puts(b, "hosts: (others are refused, or asked about on a terminal)\n");
    for (uint32_t i = 0; i < p->host_count; i++) {
        (void)buf_printf(b, "  %-9s ", p->hosts[i].verdict);
        put_escaped(b, p->hosts[i].pattern);
        (void)buf_puts(b, "  # ");
        put_escaped(b, p->hosts[i].source);
        (void)buf_putc(b, '\n');
    }
    if (p->port_count)
        (void)buf_puts(b, "ports:\n");
    for (uint32_t i = 0; i < p->port_count; i++)
        (void)buf_printf(b, "  %-9u on the host's 127.0.0.1:%u\n", p->ports[i].inside,
                         p->ports[i].host);
}

static void text_header(const struct plan *p, struct buf *b)
{
    (void)buf_puts(b, "command:");
    for (uint32_t i = 0; i < p->argv_count; i++) {
        _buf_ struct buf word = { .limit = b->limit };

        (void)buf_putc(b, ' ');
        if (str_word(&word, p->argv[i]) < 0)
            b->failed = word.failed;
        else
            put_escaped(b, word.data);
    }
    (void)buf_puts(b, "\nin: ");
    put_escaped(b, p->cwd);
    (void)buf_printf(b, "\nback end: %s%s\nlayers:", backend_name(p->backend),
                     p->refused ? ", which this host refuses: `agentbox doctor` says why" : "");
    for (uint32_t i = 0; i < LAYER_NAME_COUNT; i++)
        if (p->required & LAYER_BIT(i))
            (void)buf_printf(b, " %s%s", plan_layer_name(i),
                             p->layers & LAYER_BIT(i) ? "" : "(missing)");
    (void)buf_putc(b, '\n');
    text_namespaces(p, b);
    text_network(p, b);
}

static void text_environment(const struct plan *p, struct buf *b)
{
    size_t column = TEXT_COLUMNS;

    (void)buf_puts(b, "environment:");
    for (uint32_t i = 0; i < p->env_count; i++) {
        const size_t len = strcspn(p->env[i], "=");

        if (column + 1 + len > TEXT_COLUMNS)
            column = 1;
        (void)buf_puts(b, column == 1 ? "\n  " : " ");
        (void)str_escape(b, p->env[i], len);
        column += 1 + len;
    }
    (void)buf_putc(b, '\n');
}

static void dump_text(const struct plan *p, struct buf *b)
{
    text_header(p, b);
    (void)buf_puts(b, "placeholders:\n");
    for (uint32_t i = 0; i < p->hold_count; i++)
        for (uint32_t j = 0; j < p->holds[i].count; j++) {
            (void)buf_puts(b, "  ");
            put_escaped(b, p->holds[i].directory);
            (void)buf_puts(b, p->holds[i].directory[1] ? "/" : "");
            put_escaped(b, p->holds[i].names[j]);
            (void)buf_putc(b, '\n');
        }
    if (!backend_has_view(p->backend)) {
        (void)buf_printf(b, "mounts: those of the %s\n",
                         p->backend == BACKEND_INNER ? "sandbox around" : "host");
    } else {
        (void)buf_puts(b, "mounts: (everything else is read-only)\n");
        text_mounts(p, b);
    }
    (void)buf_puts(b, "limits:\n");
    for (uint32_t i = 0; i < p->limit_count; i++)
        (void)buf_printf(b, "  %-9s %llu\n", limit_name(p->limits[i].resource),
                         (unsigned long long)p->limits[i].value);
    if (p->pid_max)
        (void)buf_printf(b, "  %-9s %u\n", "pid_max", p->pid_max);
    if (p->timeout_ns)
        (void)buf_printf(b, "  %-9s %lld ms\n", "timeout",
                         (long long)(p->timeout_ns / NSEC_PER_MSEC));
    (void)buf_puts(b, "landlock:\n");
    for (uint32_t i = 0; i < p->rule_count; i++) {
        (void)buf_printf(b, "  %-9s ", grant_name(p->rules[i].grant));
        put_escaped(b, p->rules[i].path);
        (void)buf_putc(b, '\n');
    }
    (void)buf_printf(b, "seccomp:\n  command   %u instructions\n  pid 1     %u instructions\n",
                     p->filter.count, p->init_filter.count);
    text_environment(p, b);
}

static void json_layers(struct json *j, const char *key, uint32_t layers)
{
    json_key(j, key);
    json_array(j);
    for (uint32_t i = 0; i < LAYER_NAME_COUNT; i++)
        if (layers & LAYER_BIT(i))
            json_str(j, plan_layer_name(i));
    json_array_end(j);
}

static void json_mounts(struct json *j, const struct plan *p)
{
    json_key(j, "mounts");
    json_array(j);
    for (uint32_t i = 0; i < p->mount_count && backend_has_view(p->backend); i++) {
        const struct mount_op *op = &p->mounts[i];

        json_object(j);
        json_pair_str(j, "kind", plan_mount_name(op->kind));
        json_pair_str(j, "path", op->path);
        json_pair_str(j,
                      op->kind == MOUNT_LINK   ? "target"
                      : op->kind == MOUNT_COPY ? "source"
                                               : "reason",
                      op->text);
        json_key(j, "flags");
        json_array(j);
        for (size_t k = 0; k < ARRAY_LEN(mount_flags); k++)
            if (op->flags & mount_flags[k].flag)
                json_str(j, mount_flags[k].name);
        json_array_end(j);
        json_pair_uint(j, "mode", op->mode);
        json_pair_uint(j, "sizeBytes", op->size);
        json_pair_uint(j, "device", op->dev);
        json_pair_uint(j, "inode", op->ino);
        json_object_end(j);
    }
    json_array_end(j);
}

static void json_lists(struct json *j, const struct plan *p)
{
    json_key(j, "placeholders");
    json_array(j);
    for (uint32_t i = 0; i < p->hold_count; i++) {
        json_object(j);
        json_pair_str(j, "directory", p->holds[i].directory);
        json_key(j, "names");
        json_array(j);
        for (uint32_t k = 0; k < p->holds[i].count; k++)
            json_str(j, p->holds[i].names[k]);
        json_array_end(j);
        json_object_end(j);
    }
    json_array_end(j);
    json_mounts(j, p);
    json_key(j, "landlock");
    json_array(j);
    for (uint32_t i = 0; i < p->rule_count; i++) {
        json_object(j);
        json_pair_str(j, "grant", grant_name(p->rules[i].grant));
        json_pair_str(j, "path", p->rules[i].path);
        json_pair_bool(j, "optional", p->rules[i].flags & MOUNT_OPTIONAL);
        json_object_end(j);
    }
    json_array_end(j);
    json_key(j, "limits");
    json_object(j);
    for (uint32_t i = 0; i < p->limit_count; i++)
        json_pair_uint(j, limit_name(p->limits[i].resource), p->limits[i].value);
    json_pair_uint(j, "pidMax", p->pid_max);
    json_object_end(j);
}

static void json_network(struct json *j, const struct plan *p)
{
    json_key(j, "hosts");
    json_array(j);
    for (uint32_t i = 0; i < p->host_count; i++) {
        json_object(j);
        json_pair_str(j, "verdict", p->hosts[i].verdict);
        json_pair_str(j, "pattern", p->hosts[i].pattern);
        json_pair_str(j, "source", p->hosts[i].source);
        json_object_end(j);
    }
    json_array_end(j);
    json_key(j, "ports");
    json_array(j);
    for (uint32_t i = 0; i < p->port_count; i++) {
        json_object(j);
        json_pair_uint(j, "host", p->ports[i].host);
        json_pair_uint(j, "inside", p->ports[i].inside);
        json_object_end(j);
    }
    json_array_end(j);
}

static void dump_json(const struct plan *p, struct buf *b)
{
    struct json j;

    json_init(&j, b);
    json_object(&j);
    json_key(&j, "command");
    json_array(&j);
    for (uint32_t i = 0; i < p->argv_count; i++)
        json_str(&j, p->argv[i]);
    json_array_end(&j);
    json_pair_str(&j, "cwd", p->cwd);
    json_pair_str(&j, "path", p->path);
    json_pair_str(&j, "backend", backend_name(p->backend));
    json_pair_bool(&j, "refused", p->refused);
    json_layers(&j, "layers", p->layers);
    json_layers(&j, "required", p->required);
    json_pair_uint(&j, "uid", p->uid);
    json_pair_uint(&j, "gid", p->gid);
    json_pair_bool(&j, "mapAllIds", p->map_all_ids);
    json_pair_bool(&j, "tty", p->tty != 0);
    json_pair_str(&j, "network",
                  p->network_shared   ? "allowed"
                  : plan_has_proxy(p) ? "filtered"
                                      : "blocked");
    json_network(&j, p);
    json_pair_bool(&j, "publishes", p->publishes);
    json_pair_bool(&j, "nested", p->nested);
    json_pair_str(&j, "hostname", p->hostname);
    json_pair_int(&j, "timeoutNs", p->timeout_ns);
    json_pair_int(&j, "graceNs", p->grace_ns);
    json_lists(&j, p);
    json_key(&j, "seccomp");
    json_object(&j);
    json_pair_uint(&j, "commandInstructions", p->filter.count);
    json_pair_uint(&j, "initInstructions", p->init_filter.count);
    json_object_end(&j);
    json_key(&j, "environment");
    json_array(&j);
    for (uint32_t i = 0; i < p->env_count; i++)
        json_strn(&j, p->env[i], strcspn(p->env[i], "="));
    json_array_end(&j);
    json_object_end(&j);
    (void)buf_putc(b, '\n');
}

int32_t plan_dump(const struct plan *plan, const char *format, struct buf *out, abx_error **err)
{
    if (str_eq(format, "text")) {
        dump_text(plan, out);
    } else if (str_eq(format, "json")) {
        dump_json(plan, out);
    } else {
        int32_t r = err_new(err, ABX_E_INVALID, "print the plan as '%.64s': unknown format",
                            format);
        err_subject(err, format);
        err_hint(err, "use text, json, bwrap or seatbelt");
        return r;
    }
    return out->failed ? err_nomem(err) : ABX_OK;
}
