import * as z from 'zod';
import { count, file, onOff, origin, seconds } from '../kinds.ts';
import { broker, keeper } from '../row.ts';

const tlsError =
  'takes `self` (a key generated inside), `files` (with TLS_CERT_FILE and TLS_KEY_FILE) or `off` (for `localhost` only)';

/** How the broker and the keeper serve connections. */
export const listenerRows = [
  broker('CONFIDENTIAL_SHARE_PORT', 'broker.share_port', {
    kind: onOff,
    default: 'off',
    describe: 'With `on`, several brokers of one Linux host listen on the same port.',
  }),
  broker('CONFIDENTIAL_ORIGIN', 'broker.origin', {
    kind: origin,
    describe: 'Public address of the broker. Required unless `HOST` is loopback or `CONFIDENTIAL_TLS` is `off`.',
  }),
  broker('CONFIDENTIAL_TLS', 'broker.tls.mode', {
    kind: z.enum(['self', 'files', 'off'], { error: tlsError }),
    default: 'self',
    describe:
      'How the broker gets its TLS key. Only a key made inside is bound to the evidence. `off` needs a loopback `HOST`, or a `CONFIDENTIAL_ORIGIN` such as `http://localhost:4001`: the broker then refuses requests to other names.',
  }),
  broker('TLS_CERT_FILE', 'broker.tls.cert_file', {
    kind: file,
    describe: 'Certificate chain, as PEM. The broker reads it again when it changes.',
  }),
  broker('TLS_KEY_FILE', 'broker.tls.key_file', {
    kind: file,
    describe: 'Key of that certificate, as PEM. For `CONFIDENTIAL_TLS=files` only.',
  }),
  broker('TLS_REQUEST_FILE', 'broker.tls.request_file', {
    kind: file,
    describe: 'With `self`, the broker writes its certificate signing request here for your ACME client.',
  }),
  broker('TLS_KEPT_KEY_FILE', 'broker.tls.kept_key_file', {
    kind: file,
    describe:
      'With `TLS_REQUEST_FILE`, the broker keeps its key here, so that a restart needs no new certificate. Not with real evidence.',
  }),
  broker('PROVENANCE_FILE', 'broker.provenance_file', {
    kind: file,
    describe: 'JSON with `repository`, `commit` and `image_digest`, shown with the evidence.',
  }),
  broker('REQUEST_MEMORY_MIB', 'broker.request_memory_mib', {
    kind: count('a number of MiB', 1024 * 1024),
    describe:
      'Memory that running requests may hold because of their bodies. The default is half of what the process may use.',
  }),
  broker('STREAM_KEEPALIVE_S', 'broker.stream_keepalive_s', {
    kind: seconds(600),
    default: 15,
    describe: 'A streamed chat that is silent for this long gets a comment, so that proxies keep it open. 0 is off.',
  }),
  broker('STREAM_HEADERS_AFTER_S', 'broker.stream_headers_after_s', {
    kind: seconds(600),
    default: 0,
    describe:
      'The headers of a streamed chat leave after this time without output. No other provider can follow then, and a failure is an error in the stream. 0 waits for the first output.',
  }),
  keeper('TLS_CERT_FILE', 'keeper.tls.cert_file', {
    kind: file,
    required: true,
    describe: 'Certificate chain, as PEM.',
  }),
  keeper('TLS_KEY_FILE', 'keeper.tls.key_file', {
    kind: file,
    required: true,
    describe: 'Key of that certificate, as PEM.',
  }),
  keeper('PINS_FILE', 'keeper.pins_file', {
    kind: file,
    required: true,
    describe: 'Measurements of the brokers that get the secrets.',
  }),
  keeper('SECRETS_FILE', 'keeper.secrets_file', {
    kind: file,
    required: true,
    describe: 'Secrets that those brokers get.',
  }),
];
