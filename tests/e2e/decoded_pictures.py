# SPDX-License-Identifier: Apache-2.0
"""Odd pictures through the decoding process: pixels are those of Pillow (build/pillow, from
scripts/setup), sizes are Pillow's resizes, and what is no whole picture is an error by name."""
import io
import itertools
import random
import struct
import subprocess
import sys
import warnings
import zlib

import harness

sys.path.insert(0, str(harness.ROOT / "build" / "pillow"))
try:
    from PIL import Image, ImageDraw, ImageFilter, ImageOps
except ImportError:
    print("SKIP decoded_pictures: scripts/setup installs Pillow")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

warnings.simplefilter("ignore")
Image.MAX_IMAGE_PIXELS = None
FILTERS = [Image.Resampling.BILINEAR, Image.Resampling.BICUBIC, Image.Resampling.LANCZOS]
RANDOM = random.Random(59)


def drawing(width, height, mode="RGB"):
    """Hard edges, slopes and noise."""
    picture = Image.new("RGB", (width, height), (250, 240, 20))
    draw = ImageDraw.Draw(picture)
    for i in range(8):
        box = sorted(RANDOM.randrange(width) for _ in "xx"), \
            sorted(RANDOM.randrange(height) for _ in "yy")
        draw.ellipse([box[0][0], box[1][0], box[0][1], box[1][1]],
                     fill=tuple(RANDOM.randrange(256) for _ in "rgb"))
        draw.line([RANDOM.randrange(width), 0, RANDOM.randrange(width), height],
                  fill=(0, 0, 30 * i))
    picture.paste(picture.crop((0, 0, width // 2, height)).filter(ImageFilter.GaussianBlur(3)))
    noise = Image.frombytes("RGB", (width, height // 4 + 1),
                            RANDOM.randbytes(width * (height // 4 + 1) * 3))
    picture.paste(noise, (0, height - height // 4))
    if mode in ("LA", "RGBA"):
        alpha = Image.linear_gradient("L").resize((width, height))
        picture = picture.convert(mode)
        picture.putalpha(alpha)
        return picture
    return picture.convert(mode)


def saved(picture, kind, **options):
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def oriented(value):
    """EXIF with an orientation, in either order of bytes."""
    order = "<" if value % 2 else ">"
    return (b"Exif\0\0" + (b"II" if value % 2 else b"MM") + struct.pack(order + "HI", 42, 8)
            + struct.pack(order + "HHHIHHHHIHHI", 2, 0x0112, 3, 1, value, 0, 0x0128, 3, 1, 2, 0, 0))


def chunk(name, data):
    return (struct.pack(">I", len(data)) + name + data
            + struct.pack(">I", zlib.crc32(name + data)))


def png(width, height, depth, colour, rows, interlace=0, before=b""):
    """A PNG of packed rows, or of the seven passes' rows."""
    raw = b"".join(b"\0" + row for row in rows)
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace))
            + before + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def packed(values, depth):
    """Samples of one row, in bits from the left."""
    bits = "".join(f"{value:0{depth}b}" for value in values)
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))


def grid(width, height, depth, channels):
    """Random samples, [height][width * channels]."""
    return [[RANDOM.randrange(1 << depth) for _ in range(width * channels)] for _ in range(height)]


def interlaced(width, height, depth, colour, channels, before=b""):
    samples, rows = grid(width, height, depth, channels), []
    for x0, y0, dx, dy in [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4),
                           (1, 0, 2, 2), (0, 1, 1, 2)]:
        for y in range(y0, height, dy):
            row = [sample for x in range(x0, width, dx)
                   for sample in samples[y][x * channels:(x + 1) * channels]]
            if row:
                rows.append(packed(row, depth))
    return png(width, height, depth, colour, rows, 1, before)


def palette(count):
    return chunk(b"PLTE", RANDOM.randbytes(3 * count))


def pngs():
    for depth, colour, channels in [(1, 0, 1), (2, 0, 1), (4, 0, 1), (8, 0, 1), (16, 0, 1),
                                    (8, 2, 3), (16, 2, 3), (8, 4, 2), (16, 4, 2), (8, 6, 4),
                                    (16, 6, 4)]:
        rows = [packed(row, depth) for row in grid(37, 11, depth, channels)]
        yield f"png-{colour}-{depth}", png(37, 11, depth, colour, rows)
        yield f"png-{colour}-{depth}-interlaced", interlaced(37, 11, depth, colour, channels)
    for depth in 1, 2, 4, 8:
        before = palette(min(1 << depth, 200)) + chunk(b"tRNS", b"\0\x80")
        rows = [packed(row, depth) for row in grid(29, 7, depth, 1)]
        yield f"png-palette-{depth}", png(29, 7, depth, 3, rows, 0, before)
        yield f"png-palette-{depth}-interlaced", interlaced(29, 7, depth, 3, 1, before)
    yield "png-transparent-colour", png(9, 1, 8, 2, [bytes(range(27))], 0,
                                        chunk(b"tRNS", b"\0\1\0\2\0\3"))
    yield "png-one-pixel", png(1, 1, 8, 2, [b"\1\2\3"])
    yield "png-low-grey-16", png(5, 1, 16, 0, [struct.pack(">5H", 0, 1, 255, 256, 65535)])
    yield "png-gamma", png(9, 1, 8, 2, [bytes(range(27))], 0,
                           chunk(b"gAMA", struct.pack(">I", 100000)) + chunk(b"sRGB", b"\0"))
    yield "png-animated", saved(drawing(40, 30), "PNG", save_all=True,
                                append_images=[drawing(40, 30)], duration=50)
    for orientation in 3, 6:
        yield f"png-exif-{orientation}", saved(drawing(33, 21), "PNG", exif=oriented(orientation))
    xmp = (b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="8"/>'
           b"</x:xmpmeta>")
    yield "png-xmp-8", png(9, 2, 8, 2, [bytes(range(27))] * 2, 0,
                           chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp))


def jpegs():
    for sampling, size in itertools.product(("4:4:4", "4:2:2", "4:2:0"), [(64, 48), (51, 37)]):
        yield f"jpeg-{sampling}-{size[0]}", saved(drawing(*size), "JPEG", subsampling=sampling)
    yield "jpeg-progressive", saved(drawing(97, 61), "JPEG", progressive=True, quality=40)
    yield "jpeg-grey", saved(drawing(50, 31, "L"), "JPEG")
    yield "jpeg-grey-progressive", saved(drawing(50, 31, "L"), "JPEG", progressive=True)
    yield "jpeg-cmyk", saved(drawing(50, 31, "CMYK"), "JPEG")
    yield "jpeg-rgb", saved(drawing(50, 31), "JPEG", keep_rgb=True)
    yield "jpeg-restarts", saved(drawing(80, 60), "JPEG", restart_marker_blocks=3)
    yield "jpeg-low-quality", saved(drawing(80, 60), "JPEG", quality=3)
    yield "jpeg-comment", saved(drawing(20, 20), "JPEG", comment=b"x" * 60000)
    yield "jpeg-tail", saved(drawing(20, 20), "JPEG") + b"what follows"
    for orientation in range(1, 9):
        yield f"jpeg-exif-{orientation}", saved(drawing(45, 30), "JPEG", exif=oriented(orientation))
    yield "jpeg-exif-9", saved(drawing(45, 30), "JPEG", exif=oriented(9))
    yield "jpeg-one-pixel", saved(drawing(1, 1), "JPEG")
    # YCCK is CMYK of which Adobe's marker says that it is stored otherwise.
    inks = saved(drawing(50, 31, "CMYK"), "JPEG")
    assert b"Adobe\0d\0\0\0\0\0" in inks
    yield "jpeg-ycck", inks.replace(b"Adobe\0d\0\0\0\0\0", b"Adobe\0d\0\0\0\0\2")


def webps():
    yield "webp-lossy", saved(drawing(63, 41), "WEBP", quality=60)
    yield "webp-lossless", saved(drawing(63, 41), "WEBP", lossless=True)
    yield "webp-lossy-alpha", saved(drawing(63, 41, "RGBA"), "WEBP")
    yield "webp-lossless-alpha", saved(drawing(63, 41, "RGBA"), "WEBP", lossless=True, exact=True)
    yield "webp-exif-5", saved(drawing(30, 20), "WEBP", exif=oriented(5))
    yield "webp-animated", saved(drawing(30, 20), "WEBP", save_all=True,
                                 append_images=[drawing(30, 20) for _ in range(3)], duration=80)
    yield "webp-animated-alpha", saved(drawing(30, 20, "RGBA"), "WEBP", save_all=True,
                                       append_images=[drawing(30, 20, "RGBA")], lossless=True)


def expected(content):
    """As transformers load pictures."""
    return ImageOps.exif_transpose(Image.open(io.BytesIO(content))).convert("RGB")


class Decoder:
    """The program, with a folder for files."""

    def __init__(self, folder):
        self.folder = folder
        self.lines, self.outputs = [], []

    def ask(self, content, *size):
        index = len(self.lines)
        file, out = self.folder / f"{index}.in", self.folder / f"{index}.out"
        file.write_bytes(content)
        self.lines.append(" ".join(map(str, (file, out, *size))))
        self.outputs.append(out)

    def answers(self):
        """For each question the line and the pixels."""
        run = subprocess.run([harness.tools / "decode-picture"], input="\n".join(self.lines) + "\n",
                             stdout=subprocess.PIPE, text=True, check=True, timeout=harness.LIMIT)
        lines = run.stdout.splitlines()
        assert len(lines) == len(self.lines), run.stdout
        return [(line, out.read_bytes() if out.exists() else b"")
                for line, out in zip(lines, self.outputs)]


class PicturesTest(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.decoder = Decoder(self.folder)

    def test_pixels(self):
        pictures = [*pngs(), *jpegs(), *webps()]
        self.assertGreaterEqual(len(pictures), 60)
        for _, content in pictures:
            self.decoder.ask(content)
        for (name, content), (line, pixels) in zip(pictures, self.decoder.answers()):
            with self.subTest(name):
                picture = expected(content)
                self.assertEqual(line.split()[1:3], [*map(str, picture.size)], line)
                self.assertEqual(pixels, picture.tobytes(), line)

    def test_notes(self):
        asked = {"png-6-8": "transparency dropped", "png-0-16": "16 bits a sample cut to 8",
                 "png-animated": "animated: first frame", "webp-animated": "animated: first frame",
                 "jpeg-cmyk": "CMYK converted", "jpeg-exif-6": "turned by its EXIF orientation",
                 "jpeg-exif-1": "", "png-2-8": ""}
        pictures = [(name, content) for name, content in [*pngs(), *jpegs(), *webps()]
                    if name in asked]
        for _, content in pictures:
            self.decoder.ask(content)
        for (name, _), (line, _) in zip(pictures, self.decoder.answers()):
            self.assertEqual(" ".join(line.split(" ")[3:]), asked[name], name)

    def test_sizes(self):
        """Horizontal first: where Pillow would not, it is asked for one side after the other."""
        cases = []
        for _ in range(40):
            source = drawing(RANDOM.randrange(1, 200), RANDOM.randrange(1, 200))
            size = RANDOM.randrange(1, 300), RANDOM.randrange(1, 300)
            cases += [(source, size, index) for index in range(3)]
        cases.append((drawing(1900, 3), (2, 700), 2))
        for source, size, index in cases:
            self.decoder.ask(saved(source, "PNG"), *size, index)
        for (source, size, index), (line, pixels) in zip(cases, self.decoder.answers()):
            with self.subTest(source=source.size, size=size, filter=index):
                across = source.resize((size[0], source.height), FILTERS[index])
                self.assertEqual(pixels, across.resize(size, FILTERS[index]).tobytes(), line)

    def test_refused_formats(self):
        picture = drawing(20, 10)
        names = {"GIF": saved(picture, "GIF"), "BMP": saved(picture, "BMP"),
                 "TIFF": saved(picture, "TIFF"), "AVIF": saved(picture, "AVIF"),
                 "SVG": b'<?xml version="1.0"?>\n<svg xmlns="x"/>', "ICO": saved(picture, "ICO"),
                 "HEIC": b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "PDF": b"%PDF-1.7 and so on",
                 "JPEG 2000": saved(picture, "JPEG2000")}
        for content in [*names.values(), b"words, not a picture", b"", b"\x89PNG"]:
            self.decoder.ask(content)
        answers = self.decoder.answers()
        for name, (line, pixels) in zip(names, answers):
            self.assertTrue(line.startswith(f"INGOT-E6801: {name} pictures are not decoded"), line)
            self.assertEqual(pixels, b"")
        for line, _ in answers[len(names):]:
            self.assertTrue(line.startswith("INGOT-E6801: "), line)

    def test_cut_files(self):
        """Every file that ends early is an error that says so, or says why not; never a part."""
        pictures = [saved(drawing(64, 48), "PNG"), saved(drawing(64, 48), "JPEG"),
                    saved(drawing(64, 48), "JPEG", progressive=True),
                    saved(drawing(64, 48), "WEBP"), saved(drawing(64, 48), "WEBP", lossless=True),
                    saved(drawing(30, 20), "WEBP", save_all=True, append_images=[drawing(30, 20)])]
        for content in pictures:
            for size in [*range(40, len(content), len(content) // 40), len(content) - 1]:
                self.decoder.ask(content[:size])
        for (line, pixels), question in zip(self.decoder.answers(), self.decoder.lines):
            self.assertRegex(line, "^INGOT-E680[23]: ", question)
            self.assertEqual(pixels, b"")

    def test_damaged_files(self):
        """Changed bytes give a picture or an error with a code, and the process lives on."""
        whole = saved(drawing(40, 30), "PNG")
        for content in (whole, saved(drawing(40, 30), "JPEG"), saved(drawing(40, 30), "WEBP")):
            for _ in range(100):
                changed = bytearray(content)
                for _ in range(RANDOM.randrange(1, 6)):
                    changed[RANDOM.randrange(8, len(changed))] = RANDOM.randrange(256)
                self.decoder.ask(bytes(changed))
        broken = bytearray(whole)
        broken[whole.index(b"IDAT") + 40] ^= 1
        self.decoder.ask(bytes(broken))
        self.decoder.ask(whole)
        answers = self.decoder.answers()
        for line, _ in answers:
            self.assertRegex(line, "^(INGOT-E680[1234]: |PNG |JPEG |WebP )")
        self.assertRegex(answers[-2][0], "^INGOT-E6803: ")
        self.assertEqual(answers[-1][1], expected(whole).tobytes())


if __name__ == "__main__":
    harness.main()
