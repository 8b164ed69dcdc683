import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toHex } from '../bytes.ts';
import { verifyDstackSnp, verifyDstackTdx } from '../dstack/verify-dstack.ts';
import { parseSnpReport } from '../snp/report.ts';
import { parseTdxQuote } from '../tdx/quote.ts';
import { failed } from '../testing/outcomes.ts';
import { vectorBytes, vectorJson } from '../testing/vectors.ts';
import { dstackSource } from './dstack.ts';

interface QuoteAnswer {
  readonly quote: string;
  readonly event_log: string;
  readonly vm_config: string;
}

const reportData = new Uint8Array(64).fill(9);
let folder: string;
let server: Server | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-dstack-'));
});
afterEach(async () => {
  server?.closeAllConnections();
  server?.close();
  await rm(folder, { recursive: true });
});

/** A guest agent on its own socket. `asked` collects the requests. */
async function agent(answers: RequestListener | Record<string, unknown>) {
  const socketPath = join(folder, 'dstack.sock');
  const asked: string[] = [];
  const answer: RequestListener = (request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      asked.push(`${request.method} ${request.url} ${body}`);
      if (typeof answers === 'function') return answers(request, response);
      const found = answers[request.url ?? ''];
      response.statusCode = found === undefined ? 404 : 200;
      return response.end(typeof found === 'string' ? found : JSON.stringify(found ?? {}));
    });
  };
  server = createServer(answer);
  await new Promise<void>((resolve) => server?.listen(socketPath, resolve));
  return { source: dstackSource({ socketPath, timeoutMs: 500 }), asked };
}

describe('a report through dstack', () => {
  it('includes quote, event log and app-compose, and verifies as that machine', async () => {
    const recorded = vectorJson<QuoteAnswer>('dstack/quote-report.json');
    const info = { tcb_info: JSON.stringify({ app_compose: '{"docker_compose_file":"x"}' }) };
    const { source, asked } = await agent({ '/GetQuote': recorded, '/Info': info });
    const made = await source.report(reportData);
    await source.report(reportData);
    expect(asked).toEqual([
      `POST /GetQuote {"report_data":"${toHex(reportData)}"}`,
      'POST /Info {}',
      `POST /GetQuote {"report_data":"${toHex(reportData)}"}`,
    ]);
    if (made.tee !== 'tdx') throw new Error('a quote was wanted');
    expect(made.appCompose).toBe('{"docker_compose_file":"x"}');
    const verified = await verifyDstackTdx({ eventLog: made.eventLog }, parseTdxQuote(made.quote).report);
    expect(failed(verified.checks)).toEqual([]);
    expect(verified.identity?.composeHash).toMatch(/^[0-9a-f]{64}$/);
  });

  it('of SEV-SNP finds the report in the agent’s envelope, and the configuration that HOST_DATA binds', async () => {
    const { attestation } = vectorJson<{ attestation: string }>('dstack/sev-snp-attestation.json');
    const config = /\{"app_id".*?"version":3\}/.exec(Buffer.from(attestation, 'hex').toString('latin1'))?.[0];
    const { source } = await agent({
      '/GetQuote': { quote: '', attestation, vm_config: JSON.stringify({ mr_config: config }) },
      '/Info': { tcb_info: {} },
    });
    const made = await source.report(reportData);
    if (made.tee !== 'sev_snp') throw new Error('a report was wanted');
    expect(made.report).toEqual(vectorBytes('dstack/sev_snp_attestation.bin').slice(4, 1188));
    const verified = await verifyDstackSnp({ machineConfig: made.machineConfig }, parseSnpReport(made.report));
    expect(failed(verified.checks)).toEqual([]);
    expect(verified.identity?.appId).toBe('86e59625be93207bc2351c4d1bba20037cec8e16');
  });

  it.each([
    ['what is no JSON', { '/GetQuote': 'no' }, 'agent_malformed'],
    ['a quote that is no hex', { '/GetQuote': { quote: 'xyz' }, '/Info': { tcb_info: {} } }, 'agent_malformed'],
    ['no quote and no report', { '/GetQuote': { quote: '' }, '/Info': { tcb_info: {} } }, 'attestation_unknown'],
    ['404', {}, 'agent_404'],
  ])('is refused where the agent answers %s', async (_, answers, code) => {
    const { source } = await agent(answers as Record<string, unknown>);
    await expect(source.report(reportData)).rejects.toMatchObject({ name: 'EvidenceError', code });
  });

  it('is bounded in time and size', async () => {
    const silent = await agent(() => {});
    await expect(silent.source.report(reportData)).rejects.toMatchObject({ code: 'agent_unreachable' });
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
    const endless = await agent((_request, response) => {
      const piece = Buffer.alloc(1_000_000, 0x20);
      const more = (): void => {
        if (response.write(piece)) setImmediate(more);
        else response.once('drain', more);
      };
      more();
    });
    await expect(endless.source.report(reportData)).rejects.toMatchObject({ code: 'too_large' });
  });

  it('uses the given socket, even if the environment names a simulator', async () => {
    process.env.DSTACK_SIMULATOR_ENDPOINT = 'http://127.0.0.1:1';
    const { source, asked } = await agent({
      '/GetQuote': vectorJson('dstack/quote-report.json'),
      '/Info': { tcb_info: {} },
    });
    await source.report(reportData);
    delete process.env.DSTACK_SIMULATOR_ENDPOINT;
    expect(asked).toHaveLength(2);
  });
});
