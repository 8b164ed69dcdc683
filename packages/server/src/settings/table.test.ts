import { expect, it } from 'vitest';
import { onlyVariables, settingPaths } from './setting-paths.ts';
import { planes, rowsOf } from './table.ts';

it.each(planes)('has one row for each variable of %s, and one place in sotto.yaml for each', (plane) => {
  const rows = rowsOf(plane);
  const places = rows.flatMap(({ yaml }) => yaml ?? []);
  expect(rows.length).toBeGreaterThan(5);
  expect(new Set(rows.map(({ env }) => env)).size).toBe(rows.length);
  expect(new Set(places).size).toBe(places.length);
});

it('lets npm start read every setting of the planes, but those that need a second machine, a rotation or another listener', () => {
  const read = new Set(Object.values(settingPaths.start));
  const paths = (['control', 'broker'] as const).flatMap((plane) => Object.values(settingPaths[plane]));
  expect([...new Set(paths)].filter((path) => !read.has(path)).sort()).toEqual(
    [
      // Both processes listen where `control.host` says, on this machine.
      ...['broker.address', 'broker.host', 'broker.proxy_protocol', 'broker.share_port', 'broker.trust_proxy'],
      ...['control.address', 'control.trust_proxy'],
      // Evidence and certificates of a confidential VM.
      ...[
        'broker.attestation_collateral_url',
        'broker.keeper.ca_file',
        'broker.keeper.origin',
        'broker.provenance_file',
      ],
      ...['broker.tls.cert_file', 'broker.tls.kept_key_file', 'broker.tls.key_file', 'broker.tls.request_file'],
      // Nothing rotates the keys that `npm start` keeps, and no balancer drains it.
      ...['drain.delay_s', 'drain.timeout_s'],
      ...['account_ref', 'settlement_mac', 'ticket_sealing'].map((name) => `secrets.other_${name}_key`),
      'secrets.other_session_secret',
      // With `METRICS_PORT`, the broker uses the port after it.
      'broker.metrics_port',
      // Sizes and pauses of a broker under load.
      ...['broker.request_memory_mib', 'broker.stream_headers_after_s', 'broker.stream_keepalive_s'],
    ].sort(),
  );
});

it('gives every setting but NODE_ENV a place in sotto.yaml', () => {
  expect([...onlyVariables]).toEqual(['NODE_ENV']);
});
