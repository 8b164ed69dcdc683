import type { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';

/** The certificate that a new connection to a port of loopback meets, whoever signed it. Rejects where nobody answers. */
export function certificateAt(port: number): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, timeout: 10_000 }, () => {
      const certificate = socket.getPeerX509Certificate();
      socket.destroy();
      if (certificate === undefined) reject(new Error('the peer has no certificate'));
      else resolve(certificate);
    });
    socket.once('timeout', () => socket.destroy(new Error('no answer')));
    socket.once('error', reject);
  });
}
