import { constants } from 'node:crypto';

/**
 * How the broker speaks TLS. No session tickets: a resumed session would prove the key of an earlier connection, and
 * tell whoever watches which connections belong together.
 */
export const tlsOptions = { minVersion: 'TLSv1.2', secureOptions: constants.SSL_OP_NO_TICKET } as const;
