/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of things that are in one list at a time and can leave it from anywhere: each has `next`,
 * and `prev`, the address of the pointer that points at it (`struct x *next, **prev;`).
 */
#ifndef ABX_BASE_LIST_H
#define ABX_BASE_LIST_H

/* To the front of the list that the pointer `head` is. */
#define LIST_PUSH(head, item)                                                                      \
    do {                                                                                           \
        (item)->next = (head);                                                                     \
        (item)->prev = &(head);                                                                    \
        if ((item)->next)                                                                          \
            (item)->next->prev = &(item)->next;                                                    \
        (head) = (item);                                                                           \
    } while (0)

/* Out of the list that it is in; its own pointers stay as they are. */
#define LIST_REMOVE(item)                                                                          \
    do {                                                                                           \
        *(item)->prev = (item)->next;                                                              \
        if ((item)->next)                                                                          \
            (item)->next->prev = (item)->prev;                                                     \
    } while (0)

#endif
