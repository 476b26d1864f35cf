/* The plot of a sweep: two panels, prompts and decoding, of tokens a second over the depth. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PANEL = 420, HEIGHT = 300, LEFT = 70, TOP = 60, GAP = 90, BOTTOM = 50 };
static const char *const colours[] = {"#4477aa", "#cc6677"};
static const char *const titles[] = {"prompt", "generate"};

/* Depths on a logarithmic scale. */
static double x_of(const struct sweep_plot *plot, size_t i) {
    double first = log2(plot->points[0].depth), last = log2(plot->points[plot->count - 1].depth);
    double at = log2(plot->points[i].depth);
    return last > first ? (at - first) / (last - first) * PANEL : PANEL / 2.0;
}

/* A round number that no rate is above. */
static double top_of(const struct sweep_plot *plot, int panel) {
    double most = 1e-3;
    for (size_t i = 0; i < plot->count; i++) {
        for (int side = 0; side <= plot->both; side++) {
            most = fmax(most, plot->points[i].rate[panel][side]);
        }
    }
    double unit = pow(10, floor(log10(most)));
    return unit * ceil(most / unit);
}

static void write_text(FILE *to, const char *text) {
    for (; *text; text++) {
        if (*text == '<' || *text == '&') {
            fputs(*text == '<' ? "&lt;" : "&amp;", to);
        } else {
            fputc(*text, to);
        }
    }
}

static void write_axes(FILE *to, const struct sweep_plot *plot, int panel, double top) {
    int left = LEFT + panel * (PANEL + GAP);
    fprintf(to, "<text x=\"%d\" y=\"%d\" font-size=\"13\">%s, tokens/s</text>\n", left, TOP - 12,
            titles[panel]);
    for (int i = 0; i <= 4; i++) {
        double y = TOP + HEIGHT - i * HEIGHT / 4.0;
        fprintf(to,
                "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#dddddd\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                left, y, left + PANEL, y, left - 6, y + 4, top * i / 4);
    }
    for (size_t i = 0; i < plot->count; i++) {
        fprintf(to, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%u</text>\n",
                left + x_of(plot, i), TOP + HEIGHT + 18, plot->points[i].depth);
    }
}

static void write_line(FILE *to, const struct sweep_plot *plot, int panel, int side, double top) {
    int left = LEFT + panel * (PANEL + GAP);
    fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
            colours[side]);
    for (size_t i = 0; i < plot->count; i++) {
        double y = TOP + HEIGHT - plot->points[i].rate[panel][side] / top * HEIGHT;
        fprintf(to, "%.1f,%.1f ", left + x_of(plot, i), y);
    }
    fprintf(to, "\"/>\n");
}

static void write_legend(FILE *to, const struct sweep_plot *plot) {
    for (int side = 0; side < 2 && plot->both; side++) {
        fprintf(to, "<text x=\"%d\" y=\"%d\" fill=\"%s\">%c: ", LEFT, 16 + 16 * side, colours[side],
                'a' + side);
        write_text(to, plot->name[side][0] ? plot->name[side] : "as it is");
        fprintf(to, "</text>\n");
    }
}

char *sweep_plot(const struct sweep_plot *plot) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to) {
        return NULL;
    }
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            LEFT + 2 * PANEL + GAP + 30, TOP + HEIGHT + BOTTOM);
    write_legend(to, plot);
    for (int panel = 0; panel < 2; panel++) {
        double top = top_of(plot, panel);
        write_axes(to, plot, panel, top);
        for (int side = 0; side <= plot->both; side++) {
            write_line(to, plot, panel, side, top);
        }
    }
    fprintf(to, "<text x=\"%d\" y=\"%d\">tokens in the context</text>\n</svg>\n", LEFT,
            TOP + HEIGHT + 40);
    if (fclose(to) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
