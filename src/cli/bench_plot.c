/* The plot of operations: one bar a line, of the share that it reaches of its ceiling. */
#include "bench.h"
#include "output.h"

enum { WIDTH = 1100, LEFT = 560, RIGHT = 170, LINE = 18, GAP = 8, TOP = 56 };

static const char *colour_of(const char *bound) {
    return bound[0] == 'r' ? "#4477aa" : bound[0] == 'i' ? "#cc6677" : "#228833";
}

static double x_of(double share) {
    double most = WIDTH - LEFT - RIGHT;
    return share < 1 ? share * most : most;
}

static int height_of(const struct bench_bar *bars, size_t count) {
    int height = TOP + GAP;
    for (size_t i = 0; i < count; i++) {
        height += LINE + (bars[i].first ? GAP : 0);
    }
    return height;
}

static void write_head(int height, const struct varve_ceilings *c) {
    output_format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "font-family=\"sans-serif\" font-size=\"11\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                  WIDTH, height);
    output_format("<text x=\"10\" y=\"18\" font-size=\"13\">Share of what the machine does at most "
                  "(%u threads: %.1f GB/s read, %.0f Gop/s int8, %.0f Gop/s float)</text>\n",
                  c->threads, c->read * 1e-9, c->int8 * 1e-9, c->f32 * 1e-9);
    static const char *const bounds[] = {"read", "int8", "float"};
    for (int i = 0; i < 3; i++) {
        output_format("<rect x=\"%d\" y=\"28\" width=\"10\" height=\"10\" fill=\"%s\"/>"
                      "<text x=\"%d\" y=\"37\">%s</text>\n",
                      10 + 70 * i, colour_of(bounds[i]), 24 + 70 * i, bounds[i]);
    }
    for (int tenth = 0; tenth <= 10; tenth += 2) {
        double x = LEFT + x_of(tenth * 0.1);
        output_format("<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#dddddd\"/>"
                      "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d %%</text>\n",
                      x, TOP - 8, x, height - GAP, x, TOP - 12, tenth * 10);
    }
}

/* Labels hold no characters that XML knows: they come from names of variants and shapes. */
void bench_plot(const struct bench_bar *bars, size_t count, const struct varve_ceilings *ceilings) {
    write_head(height_of(bars, count), ceilings);
    int y = TOP;
    for (size_t i = 0; i < count; i++) {
        const struct bench_bar *b = &bars[i];
        double length = x_of(b->rates.share);
        y += b->first ? GAP : 0;
        output_format("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>"
                      "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>"
                      "<text x=\"%.1f\" y=\"%d\">%.1f %%, %.2f us</text>\n",
                      LEFT - 6, y + 12, b->label, LEFT, y + 2, length, LINE - 4,
                      colour_of(b->rates.bound), LEFT + length + 5, y + 12, 100 * b->rates.share,
                      b->seconds * 1e6);
        y += LINE;
    }
    output_format("</svg>\n");
}
