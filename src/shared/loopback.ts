/** A name or address of this machine itself; an IPv6 address with or without its brackets. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127\.[\d.]+|\[?::1\]?)$/.test(host);
