import { describe, expect, it } from 'vitest';
import { problemWithCoreLimit, problemWithFlags, refusedName, takeEnvironment } from './harden-process.ts';

describe('the environment', () => {
  it.each([
    'NODE_OPTIONS',
    'NODE_EXTRA_CA_CERTS',
    'NODE_TLS_REJECT_UNAUTHORIZED',
    'NODE_DEBUG',
    'NODE_V8_COVERAGE',
    'NODE_COMPILE_CACHE',
    'NODE_USE_ENV_PROXY',
    'NODE_WHATEVER_COMES_NEXT',
    'HTTP_PROXY',
    'https_proxy',
    'ALL_PROXY',
    'no_proxy',
    'SSL_CERT_FILE',
    'SSL_CERT_DIR',
    'SSLKEYLOGFILE',
    'OPENSSL_CONF',
    'LD_PRELOAD',
    'LD_LIBRARY_PATH',
    'UV_THREADPOOL_SIZE',
    'GLIBC_TUNABLES',
    'HOSTALIASES',
    'RES_OPTIONS',
    'DEBUG',
    'DSTACK_SIMULATOR_ENDPOINT',
  ])('may not have %s', (name) => {
    expect(refusedName({ PATH: '/bin', [name]: 'x' })).toBe(name);
    expect(refusedName({ PATH: '/bin', [name]: '' })).toBeUndefined();
  });

  it.each([
    'NODE_ENV',
    'NODE_VERSION',
    'PATH',
    'REDIS_URL',
    'TRUST_PROXY',
    'OPENAI_API_KEY',
    'KUBERNETES_SERVICE_HOST',
    'LDAP_HOST',
  ])('may have %s', (name) => {
    expect(refusedName({ [name]: 'x' })).toBeUndefined();
  });

  it('is copied whole, and only harmless variables stay', () => {
    const environment: Record<string, string | undefined> = {
      PATH: '/bin',
      TZ: 'UTC',
      ACME_API_KEY: 'secret',
      REDIS_SERVICE_HOST: '10.0.0.1',
      LOG_TOKENS: '1',
    };
    const taken = takeEnvironment(environment);
    expect(environment).toEqual({ PATH: '/bin', TZ: 'UTC' });
    expect(taken).toMatchObject({ ACME_API_KEY: 'secret', LOG_TOKENS: '1' });
    expect(Object.isFrozen(taken)).toBe(true);
  });
});

describe('the flags of Node', () => {
  it.each([
    '--inspect',
    '--inspect=0.0.0.0:9229',
    '--inspect-brk',
    '--inspect-wait',
    '--tls_keylog=/tmp/keys',
    '--tls-keylog=/tmp/keys',
    '--heapsnapshot-signal=SIGUSR2',
    '--report-on-signal',
    '--cpu-prof',
    '--use-env-proxy',
    '--use-openssl-ca',
    '--env-file=.env',
    '--abort-on-uncaught-exception',
  ])('may not be %s anywhere', (flag) => {
    for (const isProduction of [true, false]) {
      const problem = problemWithFlags(['--disable-sigusr1', flag], isProduction);
      expect(problem).toContain(`\`${flag.split('=')[0]}\``);
      expect(problem).not.toContain('\n');
    }
  });

  it.each(['--import=file:///hook.mjs', '--require=/hook.cjs', '--loader=x', '--allow-natives-syntax'])(
    'may be %s in development only',
    (flag) => {
      expect(problemWithFlags([flag], false)).toBeUndefined();
      expect(problemWithFlags(['--disable-sigusr1', flag], true)).toContain('production');
    },
  );

  it('must close the inspector’s signal in production', () => {
    expect(problemWithFlags([], false)).toBeUndefined();
    expect(problemWithFlags(['--max-old-space-size=4096'], true)).toContain('--disable-sigusr1');
    expect(
      problemWithFlags(['--disable-sigusr1', '--max-old-space-size=4096', '--conditions=@sotto/source'], true),
    ).toBeUndefined();
  });
});

describe('the limit on core dumps', () => {
  const limits = (soft: string) =>
    `Limit                     Soft Limit           Hard Limit           Units     \nMax core file size        ${soft.padEnd(21)}unlimited            bytes     \n`;
  it('must be readable and 0', () => {
    expect(problemWithCoreLimit(limits('0'))).toBeUndefined();
    expect(problemWithCoreLimit(limits('unlimited'))).toContain('is unlimited');
    expect(problemWithCoreLimit(limits('1024'))).toContain('ulimit -c 0');
    expect(problemWithCoreLimit('nothing of the kind')).toContain('cannot be read');
    expect(problemWithCoreLimit(undefined)).toContain('cannot be read');
  });
});
