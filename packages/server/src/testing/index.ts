/** For tests of the proxies in front of our servers. */
export { takeProxyHeaders } from '../proxy-protocol.ts';
