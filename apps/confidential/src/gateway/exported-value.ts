import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { tlsExporter } from '@sotto/attestation';

/**
 * The value that both ends of this connection export, and no other connection has (RFC 9266): 32 bytes. Undefined without
 * TLS 1.3 on this very socket: older versions can be made to export one value on two connections.
 */
export function exportedValue(socket: Socket): Uint8Array | undefined {
  if (!(socket instanceof TLSSocket) || socket.getProtocol() !== 'TLSv1.3') return undefined;
  return socket.exportKeyingMaterial(tlsExporter.bytes, tlsExporter.label, Buffer.alloc(0));
}
