// Checks the licence, the source and the name of every package that the lock files name, without network.
// `node scripts/licences.mjs` checks; `--sbom FILE` also writes a CycloneDX bill of materials;
// `--list` prints one line per package.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** What may be linked or bundled. MPL-2.0 is file-level and comes with the window toolkit and the Telegram crate. */
const allowed = new Set([
  "MIT", "MIT-0", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "0BSD",
  "Unicode-3.0", "OFL-1.1", "CDLA-Permissive-2.0", "MPL-2.0", "Unlicense", "CC0-1.0", "BSL-1.0", "BlueOak-1.0.0", "CC-BY-4.0", "Python-2.0",
]);

/** One TLS provider, no C crypto library, and nothing that phones home. */
const banned = new Map([
  ["openssl-sys", "TLS is rustls with ring"],
  ["native-tls", "TLS is rustls with ring"],
  ["aws-lc-sys", "TLS is rustls with ring"],
  ["fast-dav-rs", "LGPL"],
]);

/** Is this SPDX expression satisfied by the allowed licences? Precedence: WITH, AND, OR; "/" is an old spelling of OR. */
function permitted(expression) {
  const tokens = expression.replace(/\//g, " OR ").match(/\(|\)|[^\s()]+/g) ?? [];
  let at = 0;
  const peek = () => (tokens[at] ?? "").toUpperCase();
  function term() {
    if (tokens[at] === "(") {
      at++;
      const value = either();
      at++;
      return value;
    }
    let name = tokens[at++] ?? "";
    if (peek() === "WITH") name += ` WITH ${tokens[(at += 2) - 1]}`;
    return allowed.has(name);
  }
  function both() {
    let value = term();
    while (peek() === "AND") {
      at++;
      value = term() && value;
    }
    return value;
  }
  function either() {
    let value = both();
    while (peek() === "OR") {
      at++;
      value = both() || value;
    }
    return value;
  }
  const value = either();
  return value && at >= tokens.length;
}

function cargoPackages() {
  const run = (...args) => execFileSync("cargo", args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] });
  let text;
  try {
    text = run("metadata", "--format-version", "1", "--locked", "--offline");
  } catch {
    // The first time on a machine: manifests of other platforms' packages were never downloaded.
    run("fetch", "--locked");
    text = run("metadata", "--format-version", "1", "--locked", "--offline");
  }
  return JSON.parse(text).packages.map((p) => ({
    kind: "cargo", name: p.name, version: p.version, licence: p.license ?? "", source: p.source ?? "here",
  }));
}

function npmPackages() {
  const lock = join(root, "ui/package-lock.json");
  if (!existsSync(lock)) return [];
  return Object.entries(JSON.parse(readFileSync(lock, "utf8")).packages)
    .filter(([path]) => path !== "")
    .map(([path, p]) => ({
      kind: "npm", name: path.replace(/^.*node_modules\//, ""), version: p.version, dev: p.dev === true,
      // A lock file may leave the address out: the integrity hash then pins the package of npm's own registry.
      licence: p.license ?? "", source: p.resolved ?? (p.integrity ? "https://registry.npmjs.org/" : ""),
    }));
}

function sourceIsKnown(p) {
  if (p.source === "here") return true;
  return p.kind === "cargo"
    ? p.source === "registry+https://github.com/rust-lang/crates.io-index"
    : p.source.startsWith("https://registry.npmjs.org/");
}

const packages = [...cargoPackages(), ...npmPackages()];
const offences = [];
for (const p of packages) {
  const title = `${p.kind} ${p.name} ${p.version}`;
  if (!p.licence) offences.push(`${title}: declares no licence`);
  else if (!permitted(p.licence)) offences.push(`${title}: licence ${p.licence} is not on the list`);
  if (!sourceIsKnown(p)) offences.push(`${title}: comes from ${p.source}`);
  if (banned.has(p.name)) offences.push(`${title}: ${banned.get(p.name)}`);
}

if (process.argv.includes("--list")) {
  for (const p of packages) console.log(`${p.kind}\t${p.name}\t${p.version}\t${p.licence}`);
}
const sbom = process.argv.indexOf("--sbom");
if (sbom > 0) {
  const components = packages.filter((p) => !p.dev && p.source !== "here").map((p) => ({
    type: "library", name: p.name, version: p.version,
    purl: `pkg:${p.kind}/${encodeURIComponent(p.name).replace("%40", "@")}@${p.version}`,
    licenses: [{ expression: p.licence.replace(/\//g, " OR ") }],
  }));
  const version = packages.find((p) => p.name === "unavez")?.version;
  const bill = {
    bomFormat: "CycloneDX", specVersion: "1.5", version: 1,
    metadata: { component: { type: "application", name: "unavez", version } }, components,
  };
  writeFileSync(process.argv[sbom + 1], `${JSON.stringify(bill, null, 1)}\n`);
}
if (offences.length > 0) {
  console.error(offences.join("\n"));
  process.exit(1);
}
const count = (kind) => packages.filter((p) => p.kind === kind).length;
console.log(`${count("cargo")} cargo and ${count("npm")} npm packages: licences, sources and names are in order`);
