import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.spdy.DefaultSpdyDataFrame;
import io.netty.handler.codec.spdy.DefaultSpdySynStreamFrame;
import io.netty.handler.codec.spdy.SpdyDataFrame;
import io.netty.handler.codec.spdy.SpdyFrame;
import io.netty.handler.codec.spdy.SpdyHeaders.HttpNames;
import io.netty.handler.codec.spdy.SpdyHeadersFrame;
import io.netty.handler.codec.spdy.SpdyRstStreamFrame;
import io.netty.handler.codec.spdy.SpdySynStreamFrame;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.stream.Collectors;
import javax.net.ssl.SSLException;

/**
 * Fetches what standard input lists. It stands on the frames, with Netty's session below: Netty's HTTP codec refuses
 * what is pushed with its status in SYN_STREAM, which draft 3, section 3.3.1, allows.
 */
final class Client extends SimpleChannelInboundHandler<SpdyFrame> {
    private final String scheme;
    private final String address;
    private final Queue<String[]> wanted;
    private final int most;
    private final Map<Integer, Response> open = new HashMap<>();
    /** How many of the open streams were asked for. */
    private int asked;
    private int next = 1;

    private Client(String scheme, String address, Queue<String[]> wanted, int most) {
        this.scheme = scheme;
        this.address = address;
        this.wanted = wanted;
        this.most = most;
    }

    static SslContext context() throws SSLException {
        return SslContextBuilder.forClient()
                .trustManager(InsecureTrustManagerFactory.INSTANCE)
                .applicationProtocolConfig(Peer.alpn())
                .build();
    }

    static void fetch(SslContext context, String address, int most) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        Queue<String[]> wanted =
                lines.lines().map(line -> line.split(" ")).collect(Collectors.toCollection(ArrayDeque::new));
        String[] place = address.split(":");
        String scheme = context == null ? "http" : "https";
        NioEventLoopGroup group = new NioEventLoopGroup(1);
        Channel channel = new Bootstrap()
                .group(group)
                .channel(NioSocketChannel.class)
                .handler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        Peer.below(channel, context, false).addLast(new Client(scheme, address, wanted, most));
                    }
                })
                .connect(place[0], Integer.parseInt(place[1]))
                .sync()
                .channel();
        channel.closeFuture().sync();
        group.shutdownGracefully();
        System.exit(wanted.isEmpty() ? 0 : 1);
    }

    @Override
    public void channelActive(ChannelHandlerContext context) throws IOException {
        askMore(context);
    }

    private void askMore(ChannelHandlerContext context) throws IOException {
        while (asked < most && !wanted.isEmpty()) {
            ask(context, wanted.remove());
        }
        context.flush();
        if (open.isEmpty() && wanted.isEmpty()) {
            context.close();
        }
    }

    private void ask(ChannelHandlerContext context, String[] words) throws IOException {
        ByteBuf body = words.length < 3 ? null : Unpooled.wrappedBuffer(Files.readAllBytes(Path.of(words[2])));
        SpdySynStreamFrame request = new DefaultSpdySynStreamFrame(next, 0, (byte) 3);
        request.headers()
                .set(HttpNames.METHOD, words[0])
                .set(HttpNames.PATH, words[1])
                .set(HttpNames.VERSION, "HTTP/1.1")
                .set(HttpNames.SCHEME, scheme)
                .set(HttpNames.HOST, address);
        if (body == null) {
            request.setLast(true);
        } else {
            request.headers().setInt("content-length", body.readableBytes());
        }
        context.write(request);
        if (body != null) {
            context.write(new DefaultSpdyDataFrame(next, body).setLast(true));
        }
        open.put(next, new Response(words[1], false));
        asked++;
        next += 2;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, SpdyFrame frame) throws IOException {
        if (frame instanceof SpdySynStreamFrame) {
            SpdySynStreamFrame pushed = (SpdySynStreamFrame) frame;
            String path = pushed.headers().get(HttpNames.PATH).toString();
            open.put(pushed.streamId(), new Response(path, true));
        }
        if (frame instanceof SpdyHeadersFrame) {
            // SYN_STREAM and SYN_REPLY are such frames, too.
            SpdyHeadersFrame head = (SpdyHeadersFrame) frame;
            open.get(head.streamId()).take(head.headers());
            endIf(context, head.isLast(), head.streamId());
        } else if (frame instanceof SpdyDataFrame) {
            SpdyDataFrame data = (SpdyDataFrame) frame;
            open.get(data.streamId()).take(data.content());
            endIf(context, data.isLast(), data.streamId());
        } else if (frame instanceof SpdyRstStreamFrame) {
            throw new IOException("reset: " + frame);
        }
    }

    private void endIf(ChannelHandlerContext context, boolean isLast, int stream) throws IOException {
        if (isLast) {
            Response response = open.remove(stream);
            System.out.println(response.json());
            asked -= stream % 2;
            askMore(context);
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        cause.printStackTrace();
        System.exit(1);
    }
}
