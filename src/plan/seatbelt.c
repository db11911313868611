/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Seatbelt compiler: policy + facts -> profile text.
 *
 * Deny by default; then what every program needs of the system (seatbelt_*.def), the files by the
 * same rules as the mounts of Linux (seatbelt_files.c), the network by its mode. In this language
 * the last rule that matches wins, so what is narrower stands further down.
 *
 * What is left out is as much a part of it. Hard links and clones (file-link, file-clone) are never
 * allowed: a second name would lead around a rule that goes by the first. Nor are unix sockets that
 * are not named, connections to localhost but to the proxy, terminals that the command does not own
 * (their ioctls type into the shell outside), anything below /dev that is not listed, set-id bits.
 *
 * Trusts the facts' paths to be canonical: the kernel compares the path of the vnode, after links,
 * firmlinks, case and normal form are resolved.
 */
#include "plan/seatbelt.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "plan/seatbelt_files.h"
#include "plan/seatbelt_text.h"

#define WHEN_ALWAYS  false
#define WHEN_ALLOWED true

void seatbelt_rule_raw(struct seatbelt *s, const char *verb, const char *operations,
                       const char *filter, const char *why)
{
    const char *tag = str_eq(verb, "deny") ? s->request->tag : NULL;

    (void)buf_printf(s->out, "(%s %s", verb, operations);
    if (filter)
        (void)buf_printf(s->out, " %s", filter);
    if (tag)
        (void)buf_printf(s->out, " (with message \"%s\")", tag);
    (void)buf_putc(s->out, ')');
    if (why) {
        (void)buf_puts(s->out, " ; ");
        (void)str_escape(s->out, why, strlen(why));
    }
    (void)buf_putc(s->out, '\n');
}

static void refuse_length(struct seatbelt *s, const char *text)
{
    if (s->code != ABX_OK)
        return;
    s->code = err_new(s->err, ABX_E_CONFIG, "a Seatbelt rule for '%s': the path is too long", text);
    err_subject(s->err, text);
    err_hint(s->err, "macOS has no paths of more than %d bytes", SEATBELT_MAX_STRING);
}

void seatbelt_rule(struct seatbelt *s, const char *verb, const char *operations, const char *filter,
                   const char *text, const char *why)
{
    _buf_ struct buf b;

    buf_init(&b, (size_t)8 * SEATBELT_MAX_STRING);
    (void)buf_printf(&b, "(%s ", filter);
    int r = seatbelt_string(&b, text, strlen(text));
    if (r == -E2BIG) {
        refuse_length(s, text);
        return;
    }
    if (buf_putc(&b, ')') != 0) {
        s->code = err_nomem(s->err);
        return;
    }
    seatbelt_rule_raw(s, verb, operations, b.data, why);
}

static void put_title(struct seatbelt *s, const char *title)
{
    (void)buf_printf(s->out, "\n; %s\n", title);
}

/* ---- what every program needs ---- */

static void put_processes(struct seatbelt *s)
{
    put_title(s, "processes: its own");
    (void)buf_puts(s->out, "(allow process-exec*)\n"
                           "(allow process-fork)\n"
                           "(allow process-info* (target same-sandbox))\n"
                           "(allow signal (target same-sandbox))\n");
}

static void put_system(struct seatbelt *s)
{
    static const char *const sysctls[] = {
#define SYSCTL(name) name,
#include "plan/seatbelt_sysctls.def"
#undef SYSCTL
    };
    static const struct {
        bool needs_network;
        const char *name;
    } services[] = {
#define SERVICE(when, name) { WHEN_##when, name },
#include "plan/seatbelt_services.def"
#undef SERVICE
    };

    put_title(s, "the system: what programs must know to start");
    for (size_t i = 0; i < ARRAY_LEN(sysctls); i++)
        seatbelt_rule(s, "allow", "sysctl-read",
                      str_has_suffix(sysctls[i], ".") ? "sysctl-name-prefix" : "sysctl-name",
                      sysctls[i], NULL);
    for (size_t i = 0; i < ARRAY_LEN(services); i++)
        if (!services[i].needs_network || s->policy->network == NETWORK_ALLOWED)
            seatbelt_rule(s, "allow", "mach-lookup", "global-name", services[i].name, NULL);
    (void)buf_puts(
        s->out, "(allow ipc-posix-sem*)\n"
                "(allow ipc-posix-shm-read* (ipc-posix-name \"apple.shm.notification_center\"))\n"
                "(allow ipc-posix-shm* (ipc-posix-name-regex "
                "\"^/(psm_|mp-|wnsm_|PostgreSQL\\\\.|__KMP_REGISTERED_LIB_)\"))\n");
}

static void put_devices(struct seatbelt *s)
{
    static const struct {
        const char *path, *operations;
    } devices[] = {
#define DEVICE(path, operations) { path, operations },
#include "plan/seatbelt_devices.def"
#undef DEVICE
    };

    put_title(s, "devices and terminals");
    seatbelt_rule(s, "deny", "file-read* file-write*", "subpath", "/dev", NULL);
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        seatbelt_rule(s, "allow", devices[i].operations,
                      str_eq(devices[i].path, "/dev/fd") ? "subpath" : "literal", devices[i].path,
                      NULL);
    (void)buf_puts(s->out,
                   "(allow pseudo-tty)\n"
                   "(allow file-read* file-write* file-ioctl (literal \"/dev/ptmx\"))\n"
                   "(allow file-read* file-write* file-ioctl (require-all "
                   "(regex \"^/dev/ttys[0-9]+$\") (extension \"com.apple.sandbox.pty\")))\n");
    if (s->request->tty)
        (void)buf_puts(
            s->out, "(allow file-read* file-write* file-ioctl (literal (param \"" SEATBELT_PARAM_TTY
                    "\")))\n"
                    "(allow file-ioctl (literal \"/dev/tty\"))\n");
}

/* ---- network ---- */

static void put_sockets(struct seatbelt *s)
{
    if (s->policy->unix_sockets)
        (void)buf_puts(s->out,
                       "(allow network-bind (local unix-socket (path-regex \"^/\")))\n"
                       "(allow network-outbound (remote unix-socket (path-regex \"^/\")))\n");
    for (size_t i = 0; i < s->request->socket_count; i++) {
        _buf_ struct buf b;
        const char *path = s->request->sockets[i];

        buf_init(&b, (size_t)8 * SEATBELT_MAX_STRING);
        (void)buf_puts(&b, "(remote unix-socket (path-literal ");
        if (seatbelt_string(&b, path, strlen(path)) == -E2BIG)
            refuse_length(s, path);
        else if (buf_puts(&b, "))") != 0)
            s->code = err_nomem(s->err);
        else
            seatbelt_rule_raw(s, "allow", "network-outbound", b.data, NULL);
    }
}

static void put_network(struct seatbelt *s)
{
    switch (s->policy->network) {
    case NETWORK_ALLOWED:
        put_title(s, "network: allowed");
        (void)buf_puts(s->out,
                       "(allow network-outbound (remote ip \"*:*\"))\n"
                       "(allow network-bind network-inbound (local ip \"*:*\"))\n"
                       "(allow network-outbound "
                       "(remote unix-socket (path-literal \"/private/var/run/mDNSResponder\")))\n");
        break;
    case NETWORK_FILTERED:
        put_title(s, "network: the filtering proxy only");
        (void)buf_puts(s->out, "(allow network-outbound (remote tcp (string-append \"localhost:\" "
                               "(param \"" SEATBELT_PARAM_PORT "\"))))\n");
        break;
    default:
        put_title(s, "network: blocked");
        break;
    }
    if (s->request->local_binding && s->policy->network != NETWORK_ALLOWED)
        (void)buf_puts(s->out, "(allow network-bind network-inbound (local ip \"localhost:*\"))\n");
    put_sockets(s);
}

int32_t seatbelt_compile(const struct policy *policy, const struct facts *facts,
                         const struct seatbelt_request *request, struct arena *arena,
                         struct buf *out, abx_error **err)
{
    struct seatbelt s = { policy, facts, request, arena, out, err, ABX_OK };

    (void)buf_puts(out, "(version 1)\n");
    seatbelt_rule_raw(&s, "deny", "default", NULL, NULL);
    put_processes(&s);
    put_system(&s);
    put_title(&s, "files: readable, unless a rule below says otherwise");
    (void)buf_puts(out, "(allow file-read* file-map-executable)\n");
    seatbelt_rule(&s, "deny", "file-read-data file-write*", "subpath", "/System/Volumes/Data",
                  "the same files by another name");
    put_devices(&s);
    put_title(&s, "files: the policy");
    int32_t code = seatbelt_files(&s);
    if (code != ABX_OK)
        return code;
    put_title(&s, "never");
    seatbelt_rule_raw(&s, "deny", "file-write-setugid", NULL, NULL);
    put_network(&s);
    if (s.code != ABX_OK)
        return s.code;
    return out->failed ? err_nomem(err) : ABX_OK;
}
