/*
 * vmm.h - the virtual memory API: what lies at an address.
 */
#ifndef SOFTGPU_VMM_H
#define SOFTGPU_VMM_H

#include <stdbool.h>
#include <stdint.h>
#include "driver/memory/address_table.h"

/* The reservation that holds the address, mapped there or not. Any thread. */
bool vmm_reservation(uint64_t address, struct piece *reservation);

/* CUmemAllocationHandleType bits that the physical memory (allocation.owner) was created with. */
uint64_t vmm_handle_types(const void *owner);

#endif
