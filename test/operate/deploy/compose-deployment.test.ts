import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { noteSkip, onPath, until } from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AcmeAuthority, hasAcme, howToHaveAcme, startAcmeAuthority } from '../../kit/acme-authority.ts';
import { type OwnNames, openOwnNames } from '../../kit/own-network.ts';
import { type Composed, canCompose, compose, createKey, fileIn, howToCompose } from './composed.ts';

const isAble = canCompose();
if (!isAble) noteSkip('the deployment by Docker Compose', howToCompose);
const wrongs = (out: string): string[] => out.split('\n').filter((line) => line.startsWith('WRONG'));

/** Starting four programs on a busy machine takes long, but not as long as this. */
const readyMs = 300_000;

/** Asks a front for a name. Without an authority to trust, any certificate will do. */
const statusOf = (port: number, servername: string, ca?: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const trust = ca === undefined ? { rejectUnauthorized: false } : { ca };
    const options = {
      host: '127.0.0.1',
      port,
      path: '/readyz',
      servername,
      headers: { host: servername },
      agent: false,
    };
    get({ ...options, ...trust }, (answer) => {
      resolve(answer.statusCode ?? 0);
      answer.resume();
    }).on('error', reject);
  });

/** Asks with the unmodified SDK: the models, and one chat. */
const ask = `
import OpenAI from 'openai';
const client = new OpenAI({ maxRetries: 0 });
const models = await client.models.list();
const messages = [{ role: 'user', content: 'Hi' }];
const answer = await client.chat.completions.create({ model: 'acme/small', messages });
const catalog = await (await fetch(process.env.CONTROL + '/v1/catalog/models')).json();
const routes = catalog.data.find(({ id }) => id === 'acme/small').provider_routes;
console.log(JSON.stringify({ models: models.data.map(({ id }) => id), answer: answer.choices[0].message.role, routes }));
`;
const answered = { answer: 'assistant', models: expect.arrayContaining(['acme/small']), routes: [expect.anything()] };

describe.skipIf(!isAble)('docker-compose.yml without a domain', () => {
  let composed: Composed | undefined;
  afterAll(() => composed?.stop());

  it('serves this machine by plain HTTP, and the doctor calls it correct', async () => {
    composed = await compose(
      { dotEnv: [[/^#(COMPOSE_FILE=docker-compose.yml:deploy\/compose\/localhost.yml)$/m, '$1']], settings: [] },
      [],
    );
    const { folder, ports, startPlane, run, control, script, output } = composed;
    expect(composed.environmentOf('control').TRUST_PROXY).toBe('off');
    const cfg = readFileSync(join(folder, 'deploy/compose/localhost.cfg'), 'utf8')
      .replace('maxconn 4000', 'maxconn 100')
      .replace('bind :4000', `bind 127.0.0.1:${ports.plainFront}`)
      .replace('bind :4001', `bind 127.0.0.1:${ports.front}`)
      .replace('control:4000', `127.0.0.1:${ports.control}`)
      .replace('server-template broker- 4 broker:4001', `server broker 127.0.0.2:${ports.broker}`)
      .replaceAll(' resolvers docker init-addr none', '');
    writeFileSync(join(folder, 'localhost.cfg'), cfg);
    run(['haproxy', '-db', '-f', join(folder, 'localhost.cfg')]);
    // In a container the broker listens on all of its addresses; here, on one that is not loopback's name.
    startPlane('broker', { HOST: '127.0.0.2' });
    const reach = {
      CONTROL_ORIGIN: `http://localhost:4000`,
      CONTROL_ADDRESS: `127.0.0.1:${ports.plainFront}`,
      CONFIDENTIAL_ADDRESS: `127.0.0.1:${ports.front}`,
    };
    startPlane('control', { HOST: '127.0.0.1', ...reach });
    for (const port of [ports.plainFront, ports.front])
      await until(
        async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok,
        () => output(),
        readyMs,
      );
    const examined = await control(['doctor'], reach);
    expect(examined.code, examined.out).toBe(0);
    expect(examined.out).toContain('settings: no problems');
    expect(examined.out).toMatch(/warning registry: brokers reach `near` without TLS/);

    const key = await createKey(composed);
    const base = { OPENAI_BASE_URL: `http://localhost:${ports.front}/v1`, OPENAI_API_KEY: key };
    const asked = await script(ask, { ...base, CONTROL: `http://localhost:${ports.plainFront}` });
    expect(asked.code, `${asked.out}\n${output()}`).toBe(0);
    expect(JSON.parse(asked.out)).toMatchObject({ ...answered, routes: [{ provider: 'near', insecure_http: true }] });
    // Without TLS, no request may have crossed a network.
    const elsewhere = await fetch(`http://127.0.0.2:${ports.broker}/v1/models`);
    expect(elsewhere.status).toBe(403);
    expect(await elsewhere.text()).toContain('no TLS and serves `localhost` only');
  });
});

const caddy = onPath('caddy');
const isAbleWithDomain = isAble && hasAcme() && caddy !== undefined;
if (isAble && !hasAcme()) noteSkip('the deployment by Docker Compose, with a domain', howToHaveAcme);
else if (isAble && caddy === undefined)
  noteSkip('the deployment by Docker Compose, with a domain', 'install Caddy (`apt install caddy`).');

describe.skipIf(!isAbleWithDomain)('docker-compose.yml with a domain', () => {
  let composed: Composed | undefined;
  let authority: AcmeAuthority | undefined;
  let names: OwnNames | undefined;
  beforeAll(async () => {
    names = await openOwnNames(['control.sotto.test', 'api.sotto.test']);
  });
  afterAll(async () => {
    await composed?.stop();
    authority?.stop();
    await names?.stop();
  });

  it('both origins get certificates at the first start, and plain SDKs accept them', async (context) => {
    if (names === undefined) return context.skip('no namespaces');
    composed = await compose(
      {
        dotEnv: [[/^ACME_EMAIL=.*$/m, 'ACME_EMAIL=operator@sotto.test']],
        settings: [
          [/https:\/\/control\.example\.com/, 'https://control.sotto.test'],
          [/https:\/\/api\.example\.com/, 'https://api.sotto.test'],
        ],
      },
      names.under,
    );
    const { folder, ports, startPlane, run, control, script, output } = composed;
    authority = await startAcmeAuthority(ports.front, ports.plainFront);
    const directory = { ACME_DIRECTORY: `https://127.0.0.1:${authority.port}/dir` };
    const trust = join(folder, 'root.pem');
    writeFileSync(trust, authority.rootPem);
    const trusted = { NODE_EXTRA_CA_CERTS: trust };

    // Before its certificate is there, the doctor says what is wrong, and where to look.
    const cfg = readFileSync(join(folder, 'deploy/compose/haproxy.cfg'), 'utf8')
      .replace('maxconn 20000', 'maxconn 100')
      .replace('bind :443', `bind 127.0.0.1:${ports.front}`)
      .replace('bind :80', `bind 127.0.0.1:${ports.plainFront}`)
      .replace('server-template broker- 4 broker:4001', `server broker 127.0.0.1:${ports.broker}`)
      .replace('certificate:8443', `127.0.0.1:${ports.acme}`)
      // Debian's Caddy is older than the PROXY protocol in it.
      .replace('caddy:443 send-proxy-v2', `127.0.0.1:${ports.caddy}`)
      .replace('caddy:80 send-proxy-v2', `127.0.0.1:${ports.plainCaddy}`)
      .replaceAll(' resolvers docker init-addr none', '');
    writeFileSync(join(folder, 'haproxy.cfg'), cfg);
    const CONFIDENTIAL_HOST = 'api.sotto.test';
    // The proxies take the names from sotto.yaml.
    const named = ['sh', join(folder, 'deploy/compose/with-names.sh')];
    const config = { CONFIG_FILE: join(folder, 'deploy/compose/config/sotto.yaml') };
    run([...named, 'haproxy', '-db', '-f', join(folder, 'haproxy.cfg')], config);
    const stopBroker = startPlane('broker', { HOST: '127.0.0.1' });
    startPlane('control', { HOST: '127.0.0.1', ...trusted });
    await until(
      async () =>
        (await fetch(`http://127.0.0.1:${ports.control}/readyz`)).ok &&
        (await statusOf(ports.front, CONFIDENTIAL_HOST)) === 200,
      () => output(),
      readyMs,
    );
    const early = wrongs((await control(['doctor'], trusted)).out);
    expect(early.map((line) => line.split(':')[0])).toEqual(['WRONG   control', 'WRONG   broker']);
    expect(early[1]).toContain('no evidence: no client accepts it');

    const site = readFileSync(join(folder, 'deploy/compose/Caddyfile'), 'utf8')
      .replace(/\tservers :\d+ \{\n(\t\t.*\n)+\t\}\n/g, '')
      .replace('{\n', `{\n\tadmin off\n\thttp_port ${ports.plainCaddy}\n\thttps_port ${ports.caddy}\n`)
      .replace('control:4000', `127.0.0.1:${ports.control}`);
    writeFileSync(join(folder, 'Caddyfile'), site);
    run([...named, caddy ?? '', 'run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'], {
      ...composed.environmentOf('caddy'),
      ...config,
      ...directory,
      SSL_CERT_FILE: authority.caFile,
      XDG_DATA_HOME: join(folder, 'caddy'),
    });
    const signer = {
      ...composed.environmentOf('certificate'),
      ...directory,
      STATE: join(folder, 'state/tls'),
      ACME_CHALLENGE: `--tls --tls.port 127.0.0.1:${ports.acme}`,
      LEGO_CA_CERTIFICATES: authority.caFile,
    };
    run([join(folder, 'deploy/keep-certificate.sh')], signer);
    const { rootPem } = authority;
    for (const name of ['control.sotto.test', CONFIDENTIAL_HOST])
      await until(
        async () => (await statusOf(ports.front, name, rootPem)) === 200,
        () => output(),
        readyMs,
      );
    const examined = await control(['doctor'], trusted);
    expect(examined.code, examined.out).toBe(0);
    expect(wrongs(examined.out)).toEqual([]);

    const key = await createKey(composed);
    const base = { OPENAI_BASE_URL: `https://api.sotto.test:${ports.front}/v1`, OPENAI_API_KEY: key };
    const settings = { ...base, CONTROL: `https://control.sotto.test:${ports.front}` };
    const asked = await script(ask, { ...settings, ...trusted });
    expect(asked.code, `${asked.out}\n${output()}`).toBe(0);
    expect(JSON.parse(asked.out)).toMatchObject(answered);
    // A client that does not trust this authority shows that the SDK checked the certificate.
    expect((await script(ask, settings)).code).not.toBe(0);

    // The next start serves the same certificate at once: authorities give only a few a week.
    const chain = new X509Certificate(fileIn(folder, 'state/tls/chain.pem') ?? '');
    expect(chain.subjectAltName).toBe('DNS:api.sotto.test');
    const signed = fileIn(folder, 'state/tls/acme/signed.pem');
    await stopBroker();
    startPlane('broker', { HOST: '127.0.0.1' });
    await until(
      async () => (await statusOf(ports.front, CONFIDENTIAL_HOST, rootPem)) === 200,
      () => output(),
      readyMs,
    );
    expect((await script(ask, { ...settings, ...trusted })).code).toBe(0);
    expect(fileIn(folder, 'state/tls/request.pem')).toBe(signed);
    expect(new X509Certificate(fileIn(folder, 'state/tls/chain.pem') ?? '').serialNumber).toBe(chain.serialNumber);
    // Its key is in its own folder, and nowhere that another service can read.
    expect(fileIn(folder, 'state/key/key.pem')).toContain('PRIVATE KEY');
    expect(readFileSync(join(folder, 'state/tls/chain.pem'), 'utf8')).not.toContain('PRIVATE');
  });
});
