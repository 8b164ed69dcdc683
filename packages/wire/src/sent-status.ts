/**
 * The status of failures after a request was sent, so that it may be charged. No SDK retries 424 by itself. Many retry
 * any 5xx and ignore `x-should-retry`.
 */
export const sentStatus = 424;
