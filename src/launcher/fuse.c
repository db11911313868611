/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a mask answers: it is there, it has no permission, and whoever wants more gets EACCES, as
 * from the empty directory or file without permissions that it stands for.
 *
 * The requests are the kernel's; the names in them are the command's, and any bytes. Nothing is
 * kept from one request to the next: no inode but the root is ever given out, so there is nothing
 * to forget, and no file is ever open. What is unknown is ENOSYS.
 */
#include "launcher/fuse.h"

#include <linux/errno.h>
#include <linux/fuse.h>

#define VALID_SECONDS UINT64_C(1000000000) /* the attributes of a mask never change */
#define MINOR         31u                  /* what the structures below are from, or older */
#define BLOCK         4096u

_Static_assert(sizeof(struct fuse_out_header) + sizeof(struct fuse_attr_out) <= FUSE_ANSWER_MAX &&
                   sizeof(struct fuse_out_header) + sizeof(struct fuse_init_out) <= FUSE_ANSWER_MAX,
               "room for the longest answer");

struct answer {
    uint64_t unique;
    uint8_t *to;
};

static void copy(void *to, const void *from, size_t len)
{
    uint8_t *t = to;
    const uint8_t *f = from;

    while (len--)
        *t++ = *f++;
}

static size_t put(const struct answer *a, int error, const void *body, size_t len)
{
    const struct fuse_out_header head = {
        .len = (uint32_t)(sizeof head + len),
        .error = -error,
        .unique = a->unique,
    };

    copy(a->to, &head, sizeof head);
    copy(a->to + sizeof head, body, len);
    return head.len;
}

static size_t put_error(const struct answer *a, int error)
{
    return put(a, error, "", 0);
}

/* No flags: nothing is cached, read ahead, locked or written. */
static size_t put_init(const struct answer *a)
{
    const struct fuse_init_out out = {
        .major = FUSE_KERNEL_VERSION,
        .minor = MINOR,
        .max_background = 1,
        .congestion_threshold = 1,
        .max_write = BLOCK,
        .time_gran = 1,
        .max_pages = 1,
    };

    return put(a, 0, &out, sizeof out);
}

static size_t put_attr(const struct answer *a, const struct fuse_mask *mask)
{
    const struct fuse_attr_out out = {
        .attr_valid = VALID_SECONDS,
        .attr = { .ino = FUSE_ROOT_ID,
                  .mode = mask->mode,
                  .nlink = 1,
                  .uid = mask->uid,
                  .gid = mask->gid,
                  .blksize = BLOCK },
    };

    return put(a, 0, &out, sizeof out);
}

static size_t put_statfs(const struct answer *a)
{
    const struct fuse_statfs_out out = {
        .st = { .bsize = BLOCK, .frsize = BLOCK, .namelen = FUSE_NAME_LEN },
    };

    return put(a, 0, &out, sizeof out);
}

/* As much of the name as there is; it need not be terminated. */
static void take_name(struct fuse_request *r, const uint8_t *bytes, size_t len)
{
    size_t n = 0;

    while (n < len && n < FUSE_NAME_LEN && bytes[n])
        n++;
    copy(r->name, bytes, n);
    r->name[n] = '\0';
}

static size_t refuse(const struct answer *a, struct fuse_request *r)
{
    r->refused = true;
    return put_error(a, EACCES);
}

/* access() and chdir(); F_OK only asks whether it is there. */
static size_t answer_access(const struct answer *a, struct fuse_request *r, const uint8_t *body,
                            size_t len)
{
    struct fuse_access_in in = { .mask = 7 };

    if (len >= sizeof in)
        copy(&in, body, sizeof in);
    return in.mask ? refuse(a, r) : put_error(a, 0);
}

size_t fuse_answer(const struct fuse_mask *mask, const void *bytes, size_t len,
                   struct fuse_request *ret, uint8_t answer[FUSE_ANSWER_MAX])
{
    struct fuse_in_header head;
    const uint8_t *body = (const uint8_t *)bytes + sizeof head;

    *ret = (struct fuse_request){ 0 };
    if (len < sizeof head)
        return 0;
    copy(&head, bytes, sizeof head);
    len -= sizeof head;
    ret->pid = head.pid;
    const struct answer a = { .unique = head.unique, .to = answer };
    switch (head.opcode) {
    case FUSE_INIT:
        return put_init(&a);
    case FUSE_GETATTR:
        return put_attr(&a, mask);
    case FUSE_STATFS:
        return put_statfs(&a);
    case FUSE_LOOKUP:
        take_name(ret, body, len);
        return refuse(&a, ret);
    case FUSE_OPEN:
    case FUSE_OPENDIR:
        return refuse(&a, ret);
    case FUSE_ACCESS:
        return answer_access(&a, ret, body, len);
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT: /* every request is answered at once */
    case FUSE_DESTROY:
        return 0;
    default:
        return put_error(&a, ENOSYS);
    }
}
