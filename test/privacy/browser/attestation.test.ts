import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { vectorBytes, vectorCertificate, vectorDstackQuote, vectorJson } from '@sotto/attestation/testing';
import { build } from 'esbuild';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, launchChromium } from '../../kit/chromium.ts';

/** Bundles the verifiers for a browser: one minified script that puts exports of the package on the page. */
async function bundle(exported: string): Promise<string> {
  const result = await build({
    stdin: {
      contents: `import ${exported} from '@sotto/attestation'; globalThis.attestation = attestation;`,
      resolveDir: fileURLToPath(new URL('.', import.meta.url)),
    },
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    platform: 'browser',
    conditions: ['@sotto/source'],
    target: 'es2022',
    logLevel: 'silent',
  });
  return result.outputFiles[0]?.text ?? '';
}

const script = await bundle('* as attestation');

it.each([
  ['hop 1', '{ verifyGateway as attestation }', 70],
  ['both hops, receipts and GPUs', '* as attestation', 110],
])(
  'the verifiers of %s need no Node built-ins, and stay small when minified and gzipped',
  async (what, exported, limit) => {
    const bundled = await bundle(exported);
    const kilobytes = gzipSync(bundled).length / 1000;
    console.log(`attestation in a browser, ${what}: ${kilobytes.toFixed(1)} KB minified and gzipped`);
    expect(bundled).toContain('tdx.format');
    expect(kilobytes).toBeLessThan(limit);
  },
);

const hasBrowser = hasChromium('the verifiers in a real browser');

describe.skipIf(!hasBrowser)('in a real browser', () => {
  let server: Server;
  let browser: Browser;
  let origin = '';
  beforeAll(async () => {
    server = createServer((request, response) => {
      const isScript = request.url === '/attestation.js';
      response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
      response.end(isScript ? script : '<!doctype html><script src="/attestation.js"></script>');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await new Promise((resolve) => server.close(resolve));
  });

  /** Calls an exported verifier in the page. Byte arrays travel as `{bytes: [...]}`. */
  async function outcomes(verifier: 'verifyTdx' | 'verifySnp', evidence: object, now: string, policy: object) {
    const page = await browser.newPage();
    await page.goto(origin);
    const packed = JSON.stringify(evidence, (_, value) =>
      value instanceof Uint8Array ? { bytes: [...value] } : value,
    );
    const call = `(async () => {
      const evidence = JSON.parse(${JSON.stringify(packed)}, (_, value) => (value?.bytes ? Uint8Array.from(value.bytes) : value));
      const { checks } = await attestation.${verifier}(evidence, { now: new Date('${now}') }, ${JSON.stringify(policy)});
      return checks.map(({ name, outcome }) => name + ' ' + outcome);
    })()`;
    const answer = await page.evaluate<string[]>(call);
    await page.close();
    return answer;
  }

  it('a real TDX quote passes every check, and a changed one does not', async () => {
    const collateral = vectorJson('tdx/collateral_2026-03_90c06f.json');
    const quote = vectorDstackQuote('dstack/quote-report.json');
    const policy = { minimumEvaluationNumber: 18 };
    const checks = await outcomes('verifyTdx', { quote, collateral }, '2026-03-25T00:00:00Z', policy);
    expect(checks).toHaveLength(21);
    expect(checks.filter((check) => !check.endsWith(' passed'))).toEqual([]);
    const changed = await outcomes(
      'verifyTdx',
      { quote: quote.with(200, 1), collateral },
      '2026-03-25T00:00:00Z',
      policy,
    );
    expect(changed).toContain('tdx.quote_signature failed');
  });

  it.each(['milan', 'genoa', 'turin'])('a real SEV-SNP report of %s passes', async (product) => {
    const evidence = {
      report: vectorBytes(`snp/ms_${product}_report.bin`),
      endorsementKey: vectorCertificate(`snp/ms_${product}_vcek.pem`),
      intermediate: vectorCertificate(`snp/ms_${product}_ask.pem`),
    };
    const checks = await outcomes('verifySnp', evidence, '2026-03-25T00:00:00Z', {});
    expect(checks.filter((check) => check.endsWith(' passed'))).toHaveLength(10);
    expect(checks.filter((check) => check.endsWith(' failed'))).toEqual([]);
  });
});
